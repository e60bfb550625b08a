#pragma once
#include <string>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// Reads the settings from a YAML file (empty path: all defaults) and then from `--set key=value` overrides (dotted
/// key, YAML value), later ones winning. A relative `array.calibration` counts from the YAML file's folder, or from the
/// working directory in an override. Throws NoInputError when the file can't be read, else one ConfigError that lists
/// everything wrong: unknown keys with the nearest known one, wrong types, values out of range, settings that
/// contradict each other. Rows, columns, pitch, layout and standoff that the user did not give contradict nothing here,
/// as the input may bring its own; validate() judges them once that is known.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides);

/// The same for nearfieldd, where nothing but the configuration says what the microphones are when bits come over UDP
/// or a pipe: then everything is judged at once. Frequencies are held against the bits' own rate. Users, groups and
/// files that are named must exist on this machine.
Settings load_daemon_settings(const std::string& path, const std::vector<std::string>& overrides);

/// The settings as a complete YAML document that load_settings() reads back to the same settings.
std::string to_yaml(const Settings& settings);

/// Checks what can only be judged across keys, on settings that carry the input's own geometry: planes between the
/// microphones and their mirror image, dead channels inside the array, microphones enough to extrapolate, one cut-off
/// per frequency, layout and geometry (only when the user gave a layout: other inputs than bits have none), and
/// frequencies within half a bin and Nyquist. `sample_rate_hz` is the decimated rate, after front_end.decimation; 0 for
/// spectra, which have none. Throws one ConfigError that names each key.
void validate(const Settings& settings, double sample_rate_hz);

}  // namespace nearfield
