#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace nearfield::health {

/// Principal components of the windows of one frequency: the patterns over the array that windows have in common, the
/// strongest first. A steady tone is one pattern, whatever its phase in each window, with the noise of all windows
/// averaged; a field that changes is several.
/// spectra [window][channel] with `stride` values from one window to the next; channels that are not `usable` do not
/// choose the patterns, and none chooses with more than ten times the median channel's power. Returns
/// [pattern][channel], `most` patterns at most.
std::vector<std::vector<std::complex<double>>> window_patterns(std::span<const std::complex<float>> spectra,
                                                               std::size_t windows, std::size_t stride,
                                                               std::span<const std::uint8_t> usable, std::size_t most);

}  // namespace nearfield::health
