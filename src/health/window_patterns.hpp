#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace nearfield::health {

/// Principal components of the windows of one frequency: the patterns over the array that windows have in common. A
/// steady tone is one pattern, whatever its phase in each window, with the noise of all windows averaged; a field that
/// changes is several. A pattern behind the first that has more than 40 % in one window is an event: such as a seam of
/// a repeated recording, at which single modulators jump.
struct WindowPatterns {
  std::vector<std::vector<std::complex<double>>>
      strongest;  ///< [pattern][channel], the first, and others but for events
  /// Power of a microphone in a pattern that is noise alone, as the weakest quarter shows it; empty where there are
  /// fewer than 8 windows.
  std::vector<double> noise_power;
};

/// spectra [window][channel] with `stride` values from one window to the next; channels that are not `usable` do not
/// choose the patterns, and none chooses with more than ten times the median channel's power. `most` patterns at most.
WindowPatterns window_patterns(std::span<const std::complex<float>> spectra, std::size_t windows, std::size_t stride,
                               std::span<const std::uint8_t> usable, std::size_t most);

}  // namespace nearfield::health
