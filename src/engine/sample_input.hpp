#pragma once
#include <cstdint>
#include <string>

#include "nearfield/settings.hpp"

namespace nearfield {

/// Checks that the user gave the array of an input that does not carry it, and that it has so many microphones as the
/// input has channels; `name` is the input's, and `samples` its number of samples, where it has one, by which it is
/// seen that the two are the wrong way round. Throws ConfigError.
void require_channels(const Settings& settings, int channels, const std::string& name, std::uint64_t samples = 0);

/// Makes the microphones' order that of rows and columns, as samples and spectra have them, unless the user set
/// array.layout.
void take_row_order(Settings& settings);

/// Makes the settings those of samples: take_row_order(), and, where the front end is the default and counts bits,
/// which samples do not have, the first one that takes samples. A kind that the user set stays, and is refused where
/// the front end is planned. Returns whether the front end was replaced.
bool take_samples(Settings& settings);

}  // namespace nearfield
