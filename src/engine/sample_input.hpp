#pragma once
#include <cstdint>
#include <string>

#include "core/settings.hpp"

namespace nearfield {

/// Checks that the user gave the array for an input that does not carry it, and that its microphones match the input's
/// channels. `name` is the input's; `samples`, where known, is its number of samples, used to detect transposed data.
/// Throws ConfigError.
void require_channels(const Settings& settings, int channels, const std::string& name, std::uint64_t samples = 0);

/// Sets the microphones' order to rows and columns, as in samples and spectra, unless the user set array.layout.
void take_row_order(Settings& settings);

/// Adapts the settings to samples: take_row_order(), and, where the default front end counts bits, which samples do not
/// have, the first one that takes samples. A kind that the user set stays, and is refused where the front end is
/// planned. Returns true if the front end was replaced.
bool take_samples(Settings& settings);

}  // namespace nearfield
