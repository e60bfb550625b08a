#include "frontend/decimated_fft_reference.hpp"

#include <cmath>
#include <numbers>

namespace nearfield::reference {

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
    const double sine = std::sin(kPi * n / window_samples);
    const double weight = window == WindowKind::kHann ? sine * sine : 1.0;
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

}  // namespace nearfield::reference
