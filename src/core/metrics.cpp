#include "core/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "core/numerics.hpp"

namespace nearfield {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Pixel {
  std::complex<double> reference;
  std::complex<double> other;
};

std::vector<Pixel> finite_pixels(std::span<const std::complex<float>> reference,
                                 std::span<const std::complex<float>> other) {
  std::vector<Pixel> pixels;
  pixels.reserve(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (is_finite(reference[i]) && is_finite(other[i])) {
      pixels.push_back({std::complex<double>(reference[i]), std::complex<double>(other[i])});
    }
  }
  return pixels;
}

/// 1 / maximum magnitude; 1 for an image that is zero everywhere, so that it stays zero.
double normalisation(double maximum) { return maximum > 0.0 ? 1.0 / maximum : 1.0; }

/// Ratio of two energies, with 0 / 0 = 0: two zero images agree.
double energy_ratio(double error, double reference) { return error > 0.0 ? error / reference : 0.0; }

/// Equations 7.1 and 7.2, from the magnitudes of the normalised images.
void compare_magnitudes(const std::vector<Pixel>& pixels, double scale_a, double scale_b, ImageMetrics& metrics) {
  double sum_all = 0.0;
  double sum_above_floor = 0.0;
  double sum_signed = 0.0;
  double sum_absolute = 0.0;
  std::size_t above_floor = 0;
  for (const Pixel& pixel : pixels) {
    const double a = std::abs(pixel.reference) * scale_a;
    const double b = std::abs(pixel.other) * scale_b;
    sum_signed += a - b;
    sum_absolute += std::abs(a - b);
    if (a > 0.0) {
      const double relative = (a - b) / a;
      sum_all += relative * relative;
      if (a >= kRmsreFloor) {
        sum_above_floor += relative * relative;
        ++above_floor;
      }
    } else if (b > 0.0) {
      ++metrics.zero_reference;
    }
  }
  const auto count = static_cast<double>(pixels.size());
  metrics.rmsre_all = metrics.zero_reference > 0 ? std::numeric_limits<double>::infinity() : std::sqrt(sum_all / count);
  metrics.rmsre = above_floor > 0 ? std::sqrt(sum_above_floor / static_cast<double>(above_floor)) : kNan;
  metrics.rmsre_excluded = pixels.size() - above_floor;
  metrics.nsad_signed = sum_signed / count;
  metrics.nsad = sum_absolute / count;
}

void compare_complex(const std::vector<Pixel>& pixels, double scale_a, double scale_b, ImageMetrics& metrics) {
  double energy_a = 0.0;
  double energy_b = 0.0;
  double error = 0.0;
  double normalised_error = 0.0;
  std::complex<double> product = 0.0;
  for (const Pixel& pixel : pixels) {
    energy_a += std::norm(pixel.reference);
    energy_b += std::norm(pixel.other);
    error += std::norm(pixel.other - pixel.reference);
    normalised_error += std::norm(pixel.other * scale_b - pixel.reference * scale_a);
    product += std::conj(pixel.reference) * pixel.other;
  }
  metrics.relative_l2 = std::sqrt(energy_ratio(error, energy_a));
  metrics.nmse_db = 10.0 * std::log10(energy_ratio(normalised_error, energy_a * scale_a * scale_a));
  const double norms = std::sqrt(energy_a) * std::sqrt(energy_b);
  metrics.ncc = norms > 0.0 ? std::abs(product) / norms : kNan;
}

}  // namespace

ImageMetrics compare_images(std::span<const std::complex<float>> reference,
                            std::span<const std::complex<float>> other) {
  if (reference.size() != other.size()) {
    throw DataError(fmt::format("comparison of images: expected two of the same size, found {} and {} pixels",
                                reference.size(), other.size()));
  }
  const std::vector<Pixel> pixels = finite_pixels(reference, other);
  ImageMetrics metrics;
  metrics.pixels = reference.size();
  metrics.non_finite = reference.size() - pixels.size();
  if (pixels.empty()) {
    metrics.rmsre_all = metrics.rmsre = metrics.nsad_signed = metrics.nsad = kNan;
    metrics.nmse_db = metrics.ncc = metrics.relative_l2 = kNan;
    return metrics;
  }
  double maximum_a = 0.0;
  double maximum_b = 0.0;
  for (const Pixel& pixel : pixels) {
    maximum_a = std::max(maximum_a, std::abs(pixel.reference));
    maximum_b = std::max(maximum_b, std::abs(pixel.other));
  }
  const double scale_a = normalisation(maximum_a);
  const double scale_b = normalisation(maximum_b);
  compare_magnitudes(pixels, scale_a, scale_b, metrics);
  compare_complex(pixels, scale_a, scale_b, metrics);
  return metrics;
}

}  // namespace nearfield
