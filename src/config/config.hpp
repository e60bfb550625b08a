#pragma once
#include <optional>
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

/// The same from a document that a program holds; `label` stands for the file's name in messages. Relative paths count
/// from the working directory. `positions_m`, one a microphone, where there are some stand for the file of
/// array.positions.
Settings parse_settings(const std::string& yaml, const std::string& label,
                        const std::vector<MicrophonePosition>& positions_m);

/// The settings that a recording carries, `yaml` as to_yaml() wrote it; `name` is the recording's. The array's geometry
/// and layout and the standoff are the recording's own to say, what belongs to the machine that recorded it
/// (`device`, also those of processors, and `daemon`) has its defaults, and `overrides` win. `keeps_geometry`: for an
/// input that says nothing of its array, such as time data; the settings' own then counts as given by the user. Throws
/// ConfigError as load_settings() does.
Settings load_recorded_settings(const std::string& yaml, const std::string& name,
                                const std::vector<std::string>& overrides, bool keeps_geometry = false);

/// As load_settings() for nearfieldd, where nothing but the configuration says what the microphones are when bits come
/// over UDP or a pipe: then everything is checked immediately. Frequencies are held against the bits' own rate. Users,
/// groups and files that are named must exist on this machine.
Settings load_daemon_settings(const std::string& path, const std::vector<std::string>& overrides);

/// Throws ConfigError unless the user gave rows, columns, pitch and standoff: time data and sound files, of so many
/// channels, do not carry them, and an image of guessed ones would look as good as a true one. The message has the
/// options that give what is missing.
void require_geometry(const Settings& settings, const std::string& name, int channels);

/// array.pascal_per_unit, for a file of samples that does not say its unit, and nothing for one that does. Throws
/// ConfigError where a file needs it and it was not given, and where the user gave it for a file that says its own.
std::optional<double> pascal_per_unit_for(const Settings& settings, const std::string& name, bool file_says_it);
/// The same, for what the user gave as that setting or as the option --pascal-per-unit.
std::optional<double> pascal_per_unit_for(std::optional<double> given, const std::string& name, bool file_says_it);
/// These options, on up to three lines that begin with a line feed; empty where nothing is missing.
std::string geometry_not_given(const Settings& settings);

/// A file that holography, which is the first processor, or another processor reads, under the dotted key that names
/// it.
struct PathOfProcessor {
  std::string key;
  std::string path;
};
/// Those of holography and of all processors, of whatever kinds: what is given of all their settings of type path.
std::vector<PathOfProcessor> paths_of_processors(const Settings& settings);

/// What differs between two settings, in the order of config/nearfield.yaml: "holography.standoff_m 0.03 -> 0.04".
std::vector<std::string> changes(const Settings& before, const Settings& after);

/// The keys and sections among what differs that a running daemon cannot follow: "array.rows", "daemon.source".
std::vector<std::string> changes_at_restart(const Settings& before, const Settings& after);

/// The settings as a complete YAML document that load_settings() reads back to the same settings.
std::string to_yaml(const Settings& settings);

/// Checks what depends on several keys, on settings that carry the input's own geometry: planes between the
/// microphones and their mirror image, dead channels inside the array, microphones enough to extrapolate, one cut-off
/// per frequency, layout and geometry (only when the user gave a layout: other inputs than bits have none), and
/// frequencies within half a bin and Nyquist. `sample_rate_hz` is the decimated rate, after front_end.decimation; 0 for
/// spectra, which have none. Throws one ConfigError that names each key.
void validate(const Settings& settings, double sample_rate_hz);

/// The settings as a processor's spectra have them: front_end is its own where it has one, without bands then.
Settings settings_of(const Settings& settings, const ProcessorSettings& processor);

/// Of the run's front end, of those that processors have of their own, and of the samples that they work on.
int longest_window_samples(const Settings& settings);
/// The section that has it: "front_end", "processors.NAME.front_end" or "processors.NAME".
std::string section_of_longest_window(const Settings& settings);

}  // namespace nearfield
