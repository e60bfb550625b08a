#pragma once
#include <cstdint>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// True when the bin nearest to a frequency is neither 0 nor half the sample rate (or beyond).
bool is_inner_bin(double frequency_hz, double sample_rate_hz, int window_samples);

/// The nearest bin of each frequency; all must be inner ones.
std::vector<std::uint32_t> nearest_bins(const std::vector<double>& frequencies_hz, double sample_rate_hz,
                                        int window_samples);

/// [n], periodic: hann is 1/2 - 1/2 cos(2 pi n / N) (Harris 1978), none is 1.
std::vector<double> window_values(WindowKind kind, int window_samples);

}  // namespace nearfield
