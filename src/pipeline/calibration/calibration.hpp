#pragma once
#include <complex>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// Gains of the calibration file at each frequency, [frequency][row][column], linear between the file's frequencies;
/// empty when the settings name no file. Throws ConfigError when the file's geometry or range of frequencies does not
/// fit.
std::vector<std::complex<float>> calibration_gains(const ArraySettings& array,
                                                   const std::vector<double>& frequencies_hz);

}  // namespace nearfield
