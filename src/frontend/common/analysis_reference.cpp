#include "frontend/common/analysis_reference.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace nearfield::reference {
namespace {

using Vector = std::array<double, 3>;

double determinant(const Vector& a, const Vector& b, const Vector& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

double window_weight(WindowKind window, int window_samples, int n) {
  const double sine = std::sin(std::numbers::pi * n / window_samples);
  return window == WindowKind::kHann ? sine * sine : 1.0;
}

}  // namespace

double snapped_frequency_hz(double frequency_hz, double sample_rate_hz, int window_samples) {
  const double bin_hz = sample_rate_hz / window_samples;
  return std::floor(frequency_hz / bin_hz + 0.5) * bin_hz;
}

std::vector<std::complex<double>> windowed_dft(const double* samples, std::size_t channels, WindowKind window,
                                               int window_samples, double frequency_hz, double sample_rate_hz) {
  constexpr double kPi = std::numbers::pi;
  std::vector<std::complex<double>> sums(channels, 0.0);
  double weight_sum = 0.0;
  for (int n = 0; n < window_samples; ++n) {
    const double weight = window_weight(window, window_samples, n);
    weight_sum += weight;
    const std::complex<double> phasor = std::polar(weight, -2.0 * kPi * n * frequency_hz / sample_rate_hz);
    const double* row = samples + static_cast<std::size_t>(n) * channels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      sums[channel] += phasor * row[channel];
    }
  }
  for (std::complex<double>& sum : sums) {
    sum *= 2.0 / weight_sum;
  }
  return sums;
}

std::vector<std::complex<double>> fitted_phasors(const double* samples, std::size_t channels, WindowKind window,
                                                 int window_samples, double frequency_hz, double sample_rate_hz) {
  std::array<Vector, 3> normal{};
  std::vector<Vector> projections(channels, Vector{});
  for (int n = 0; n < window_samples; ++n) {
    const double angle = 2.0 * std::numbers::pi * n * frequency_hz / sample_rate_hz;
    const double weight = window_weight(window, window_samples, n);
    const Vector base = {std::cos(angle), std::sin(angle), 1.0};
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        normal[i][k] += weight * base[i] * base[k];
      }
    }
    const double* row = samples + static_cast<std::size_t>(n) * channels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t i = 0; i < 3; ++i) {
        projections[channel][i] += weight * base[i] * row[channel];
      }
    }
  }
  // Cramer's rule; the matrix is symmetric, so its rows are its columns. Re(A e^{ja}) = Re A cos a - Im A sin a.
  const double all = determinant(normal[0], normal[1], normal[2]);
  std::vector<std::complex<double>> phasors;
  for (const Vector& projection : projections) {
    phasors.emplace_back(determinant(projection, normal[1], normal[2]) / all,
                         -determinant(normal[0], projection, normal[2]) / all);
  }
  return phasors;
}

}  // namespace nearfield::reference
