#pragma once
#include <complex>
#include <vector>

#include "core/microphones.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// Calibration gains from `files` at each frequency, [frequency][row][column], interpolated linearly between the file's
/// frequencies; empty when the settings name no calibration. Throws ConfigError when its geometry or range of
/// frequencies does not fit, and where `files` is null and the settings name one.
std::vector<std::complex<float>> calibration_gains(const ArraySettings& array,
                                                   const std::vector<double>& frequencies_hz, const ArrayFiles* files);

}  // namespace nearfield
