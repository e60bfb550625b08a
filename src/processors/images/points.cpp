#include "processors/images/points.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kMostPixels = 16;
/// Share of the microphones' Nyquist wavenumber that is interpolated well: the pass band of a cut-off.
constexpr double kBand = 0.8;
/// Power of noise relative to the field's, which keeps the weights small where waves are nearly indistinguishable.
constexpr double kNoise = 1e-4;
constexpr double kOnPixel = 1e-6;  ///< pixels

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

/// Position in pixels from the first one's centre.
double position_of(double at_m, const std::vector<double>& axis_m) {
  if (axis_m.size() == 1) {
    return 0.0;
  }
  const double last = static_cast<double>(axis_m.size() - 1);
  return std::clamp((at_m - axis_m.front()) / (axis_m.back() - axis_m.front()) * last, 0.0, last);
}

}  // namespace

AxisWeights band_limited_weights(double position, std::size_t pixels, double band) {
  const auto nearest = static_cast<std::size_t>(std::lround(position));
  if (std::abs(position - static_cast<double>(nearest)) < kOnPixel) {
    return {.first = nearest, .weights = {1.0}};
  }
  const std::size_t count = std::min(pixels, kMostPixels);
  const auto below = static_cast<std::size_t>(position) + 1;
  const std::size_t first = std::min(below > count / 2 ? below - count / 2 : 0, pixels - count);
  std::vector<double> gram(count * count);
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      gram[i * count + j] = sinc(band * (static_cast<double>(i) - static_cast<double>(j))) + (i == j ? kNoise : 0.0);
    }
    weights[i] = sinc(band * (position - static_cast<double>(first + i)));
  }
  solve_cholesky(gram, weights);
  return {.first = first, .weights = std::move(weights)};
}

PointSampler::PointSampler(const ImagesHeader& header, const HolographySettings& holography)
    : columns_(header.x_m.size()), pixels_(header.pixels()) {
  // A product of two fields has twice their band.
  const double fields = holography.quantity == Quantity::kActiveIntensity ? 2.0 : 1.0;
  const double band = std::min(1.0, kBand * fields / holography.upsample);
  for (const PlanePoint& point : holography.points) {
    places_.push_back({.rows = band_limited_weights(position_of(point.y_m, header.y_m), header.y_m.size(), band),
                       .columns = band_limited_weights(position_of(point.x_m, header.x_m), header.x_m.size(), band)});
  }
}

void PointSampler::sample(std::span<const std::complex<float>> images, std::vector<std::complex<float>>& values) const {
  values.clear();
  for (std::size_t image = 0; image + pixels_ <= images.size(); image += pixels_) {
    for (const Place& place : places_) {
      std::complex<double> value;
      for (std::size_t r = 0; r < place.rows.weights.size(); ++r) {
        const std::size_t row = image + (place.rows.first + r) * columns_ + place.columns.first;
        for (std::size_t c = 0; c < place.columns.weights.size(); ++c) {
          value += place.rows.weights[r] * place.columns.weights[c] * std::complex<double>(images[row + c]);
        }
      }
      values.emplace_back(value);
    }
  }
}

}  // namespace nearfield
