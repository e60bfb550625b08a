#include "frontend/common/spectral_bins.hpp"

#include <cmath>
#include <numbers>

namespace nearfield {

bool is_inner_bin(double frequency_hz, double sample_rate_hz, int window_samples) {
  const double bin = std::round(frequency_hz / sample_rate_hz * window_samples);
  return bin >= 1.0 && 2.0 * bin < window_samples;  // false for NaN too
}

std::vector<std::uint32_t> nearest_bins(const std::vector<double>& frequencies_hz, double sample_rate_hz,
                                        int window_samples) {
  std::vector<std::uint32_t> bins;
  for (const double frequency_hz : frequencies_hz) {
    bins.push_back(static_cast<std::uint32_t>(std::lround(frequency_hz / sample_rate_hz * window_samples)));
  }
  return bins;
}

std::vector<double> window_values(WindowKind kind, int window_samples) {
  std::vector<double> values(static_cast<std::size_t>(window_samples), 1.0);
  if (kind == WindowKind::kHann) {
    for (int n = 0; n < window_samples; ++n) {
      values[static_cast<std::size_t>(n)] = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * n / window_samples);
    }
  }
  return values;
}

}  // namespace nearfield
