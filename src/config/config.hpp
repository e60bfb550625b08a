#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// Overrides that were taken, for files that are read later: what takes a processor away is nothing to a file without
/// it.
std::vector<std::string> lasting(std::vector<std::string> overrides);

/// Reads the settings from a YAML file (empty path: all defaults) and then from `--set key=value` overrides (dotted
/// key, YAML value), later ones winning. A relative `array.calibration` refers to the YAML file's folder, or to the
/// working directory in an override. Throws NoInputError when the file can't be read, else one ConfigError that lists
/// everything wrong: unknown keys with the nearest known one, wrong types, values out of range, settings that
/// contradict each other. Rows, columns, pitch, layout and standoff that the user did not give are not checked here, as
/// the input may supply its own; validate() checks them once that is known.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides);

/// Like load_settings(), from a document that a program holds; `label` replaces the file's name in messages. Relative
/// paths refer to the working directory. `positions_m`, one a microphone, replaces the file of array.positions if it is
/// not empty.
Settings parse_settings(const std::string& yaml, const std::string& label,
                        const std::vector<MicrophonePosition>& positions_m);

/// The settings stored in a recording, `yaml` as to_yaml() wrote it; `name` is the recording's. The recording itself
/// provides the array's geometry and layout and the standoff; settings of the machine that recorded it (`device`, also
/// those of processors, and `daemon`) get their defaults, and `overrides` win. `keeps_geometry`: for an input without a
/// description of its array, such as time data; the settings' own then counts as given by the user. Throws ConfigError
/// as load_settings() does.
Settings load_recorded_settings(const std::string& yaml, const std::string& name,
                                const std::vector<std::string>& overrides, bool keeps_geometry = false);

/// Like load_settings(), for nearfieldd, where only the configuration describes the microphones when bits come over UDP
/// or a pipe: then everything is checked immediately. Frequencies are checked against the bits' own rate. Named users,
/// groups and files must exist on this machine.
Settings load_daemon_settings(const std::string& path, const std::vector<std::string>& overrides);

/// Throws ConfigError unless the user gave rows, columns, pitch and standoff: time data and sound files, with
/// `channels` channels, do not contain them, and an image with guessed ones would look as good as a true one. The
/// message lists the options that give what is missing.
void require_geometry(const Settings& settings, const std::string& name, int channels);

/// array.pascal_per_unit for a file of samples that does not state its unit; empty for one that does. Throws
/// ConfigError if a file needs it and it was not given, and if the user gave it for a file that states its own.
std::optional<double> pascal_per_unit_for(const Settings& settings, const std::string& name, bool file_says_it);
/// Like the overload above, for a value given as that setting or as the option --pascal-per-unit.
std::optional<double> pascal_per_unit_for(std::optional<double> given, const std::string& name, bool file_says_it);
/// The options missing for require_geometry(), on up to three lines that begin with a line feed; empty if none is
/// missing.
std::string geometry_not_given(const Settings& settings);

/// A file that holography (the first processor) or another processor reads, with the dotted key that names it.
struct PathOfProcessor {
  std::string key;
  std::string path;
};
/// The files of holography and of all processors, of any kind: all of their settings of type path that are given.
std::vector<PathOfProcessor> paths_of_processors(const Settings& settings);

/// The differences between two settings, in the order of config/nearfield.yaml: "holography.standoff_m 0.03 -> 0.04".
std::vector<std::string> changes(const Settings& before, const Settings& after);

/// The changed keys and sections that a running daemon cannot apply: "array.rows", "daemon.source".
std::vector<std::string> changes_at_restart(const Settings& before, const Settings& after);

/// The settings as a complete YAML document that load_settings() reads back to the same settings.
std::string to_yaml(const Settings& settings);

/// Checks rules that involve several keys, on settings with the input's own geometry: planes between the microphones
/// and their mirror image, dead channels inside the array, enough microphones to extrapolate, one cut-off per
/// frequency, layout and geometry (only when the user gave a layout: other inputs than bits have none), and frequencies
/// within half a bin and Nyquist. `sample_rate_hz` is the decimated rate, after front_end.decimation; 0 for spectra,
/// which have none. Throws one ConfigError that names each key.
void validate(const Settings& settings, double sample_rate_hz);

/// The settings for a processor's spectra: front_end is its own if it has one, then without bands.
Settings settings_of(const Settings& settings, const ProcessorSettings& processor);

/// The longest window of the run's front end, of the processors' own, and of the samples that they work on.
int longest_window_samples(const Settings& settings);
/// The section with the longest window: "front_end", "processors.NAME.front_end" or "processors.NAME".
std::string section_of_longest_window(const Settings& settings);

}  // namespace nearfield
