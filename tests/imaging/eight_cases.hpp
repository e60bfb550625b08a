#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "imaging/imager_paths.hpp"
#include "imaging/shared/image_plan.hpp"
#include "support/fields.hpp"
#include "support/measures.hpp"

namespace nearfield::test {

/// The eight cases of the issue over 32 x 32 microphones 2 cm apart: a monopole 3 cm behind the surface near the centre
/// and near the edge, and sin sin patterns. Each is a "frequency" of its own.
inline const std::vector<double> kCaseFrequencies = {500.0, 2000.0, 4000.0, 500.0, 2000.0, 4000.0, 500.0, 2000.0};
inline constexpr std::size_t kCases = 8;

inline Complex pattern(double k, double x_m, double y_m, double z_m) {
  const double kx = 2.0 * std::numbers::pi / 0.27;
  const double ky = 2.0 * std::numbers::pi / 0.35;
  const Complex kz = k * k > kx * kx + ky * ky ? Complex(std::sqrt(k * k - kx * kx - ky * ky), 0.0)
                                               : Complex(0.0, -std::sqrt(kx * kx + ky * ky - k * k));
  return std::exp(Complex(0.0, -1.0) * kz * z_m) * std::sin(kx * (x_m + 0.031)) * std::sin(ky * (y_m - 0.047));
}

inline std::vector<Complex> case_field(std::size_t index, const ImagePlan& plan, double z_m) {
  const double k = 2.0 * std::numbers::pi * kCaseFrequencies[index] / plan.medium.sound_speed_m_s;
  if (index < 6) {
    const Monopole source = index < 3 ? Monopole{.x_m = 0.013, .y_m = -0.021, .z_m = -0.03}
                                      : Monopole{.x_m = 0.26, .y_m = 0.19, .z_m = -0.03};
    return monopole_field(source, k, plan.geometry, z_m);
  }
  std::vector<Complex> field;
  for (int row = 0; row < plan.geometry.rows; ++row) {
    for (int column = 0; column < plan.geometry.columns; ++column) {
      field.push_back(pattern(k, plan.geometry.x_m(column), plan.geometry.y_m(row), z_m));
    }
  }
  return field;
}

/// Errors of images [case], `repeats` times over.
inline std::vector<double> case_errors(const std::vector<Complex>& images, std::size_t repeats, const ImagePlan& plan) {
  std::vector<double> errors;
  const std::size_t pixels = images.size() / (repeats * kCases);
  for (std::size_t i = 0; i < repeats * kCases; ++i) {
    const auto first = images.begin() + static_cast<std::ptrdiff_t>(i * pixels);
    errors.push_back(relative_l2(std::vector<Complex>(first, first + static_cast<std::ptrdiff_t>(pixels)),
                                 case_field(i % kCases, plan, 0.0)));
  }
  return errors;
}

inline std::vector<Complex> noisy_cases(double snr_db, const ImagePlan& plan, std::mt19937& generator) {
  std::vector<Complex> spectra;
  for (std::size_t i = 0; i < kCases; ++i) {
    auto field = case_field(i, plan, plan.standoff_m);
    add_noise(field, snr_db, generator);
    spectra.insert(spectra.end(), field.begin(), field.end());
  }
  return spectra;
}

/// The cases' frequencies, each once: case i has number i % 3.
inline const std::vector<double> kThreeFrequencies = {500.0, 2000.0, 4000.0};

/// [case]
struct CaseImages {
  std::vector<Complex> images;
  std::vector<FilterReport> reports;
};

/// Images of the cases, [case][microphone], by an imager of kThreeFrequencies, whose models take longest: three frames
/// that know nothing of one another.
inline CaseImages image_cases(Imager& imager, std::vector<Complex> spectra) {
  const auto microphones = static_cast<std::ptrdiff_t>(spectra.size() / kCases);
  const std::vector<Complex> sixth(spectra.begin() + 5 * microphones, spectra.begin() + 6 * microphones);
  spectra.insert(spectra.end(), sixth.begin(), sixth.end());  // of 4 kHz there are two
  const auto status = device().upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords, 0U), "test");
  CaseImages found;
  for (std::ptrdiff_t frame = 0; frame < 3; ++frame) {
    const auto first = spectra.begin() + 3 * frame * microphones;
    imager.forget();
    imager.enqueue(device().upload<std::complex<float>>(narrow({first, first + 3 * microphones}), "test"), status);
    const std::vector<Complex> images = widen(device().download(imager.images(), "test"));
    const std::vector<FilterReport> reports = device().download(imager.reports(), "test");
    found.images.insert(found.images.end(), images.begin(), images.end());
    found.reports.insert(found.reports.end(), reports.begin(), reports.begin() + 3);
  }
  found.images.resize(found.images.size() / 9 * kCases);
  found.reports.resize(kCases);
  return found;
}

/// Fixed cut-offs, rad/m, the best of which is what a rule is measured by.
inline const std::vector<double> kFixedCutoffs = {35, 40, 45, 50, 54, 58,  62,  67,  72,
                                                  77, 82, 87, 92, 98, 104, 110, 118, 128};

}  // namespace nearfield::test
