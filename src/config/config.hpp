#pragma once
#include <string>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// Reads the settings from a YAML file (empty path: all defaults) and then from `--set key=value` overrides, later ones
/// winning. Throws one ConfigError that lists everything wrong: unknown keys with the nearest known one, wrong types,
/// values out of range, settings that contradict each other.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides);

/// The settings as a complete YAML document that load_settings() reads back to the same settings.
std::string to_yaml(const Settings& settings);

/// Checks what can only be judged across keys (a frequency above Nyquist for `sample_rate_hz`, one cut-off per
/// frequency, dead channels inside the array, layout and geometry). Throws ConfigError naming each key.
void validate(const Settings& settings, double sample_rate_hz);

}  // namespace nearfield
