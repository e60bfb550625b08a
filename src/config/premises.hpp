#pragma once
#include <string>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// The quantities that a run takes from its settings and cannot check, one line each, for the first lines of a
/// program's output: the array's size and distance, rates and lengths of windows in seconds, wavelengths beside the
/// pitch, the unit, each processor, and every other setting that differs from its default. A value that is wrong by a
/// factor or a sign is visible there. `sample_rate_hz` is the decimated rate; 0: spectra, which have none.
std::vector<std::string> premises(const Settings& settings, double sample_rate_hz);

}  // namespace nearfield
