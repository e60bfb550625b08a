#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace nearfield::health {

/// Principal components of the windows of one frequency: the patterns over the array common to the windows. A steady
/// tone is one pattern, whatever its phase in each window, with the noise of all windows averaged; a field that changes
/// is several. A pattern after the first with more than 40 % in one window is an event, such as a seam of a repeated
/// recording, at which single modulators jump.
struct WindowPatterns {
  std::vector<std::vector<std::complex<double>>>
      strongest;  ///< [pattern][channel], the first, and others except events
  /// Power of a microphone in a pattern of noise alone, estimated from the weakest quarter; empty with fewer than 8
  /// windows.
  std::vector<double> noise_power;
};

/// spectra [window][channel] with `stride` values from one window to the next; channels that are not `usable` do not
/// determine the patterns, and none counts with more than ten times the median channel's power. At most `most`
/// patterns.
WindowPatterns window_patterns(std::span<const std::complex<float>> spectra, std::size_t windows, std::size_t stride,
                               std::span<const std::uint8_t> usable, std::size_t most);

}  // namespace nearfield::health
