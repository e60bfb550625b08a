#include "config/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "config/live_samples.hpp"
#include "config/load_yaml.hpp"
#include "config/premises.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "config/schema/section.hpp"
#include "config/settings_reader.hpp"
#include "config/words.hpp"
#include "config/yaml_reader.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"

namespace nearfield {
namespace {

/// Properties that an input file may state itself; final only when the user gave them.
constexpr std::array<std::string_view, 8> kKeysOfInputs = {
    "front_end.frequencies_hz", "array.rows",   "array.columns",         "array.pitch_x_m",
    "array.pitch_y_m",          "array.layout", "holography.standoff_m", "array.clock_hz"};

constexpr std::size_t kDeepestKey = 8;

std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> segments(1);
  for (const char character : key) {
    if (character == '.') {
      segments.emplace_back();
    } else {
      segments.back() += character;
    }
  }
  return segments;
}

/// "a.b" and a value become {a: {b: value}}.
YAML::Node nest(const std::vector<std::string>& segments, const YAML::Node& value) {
  YAML::Node node = value;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    YAML::Node outer(YAML::NodeType::Map);
    outer.force_insert(*segment, node);
    node.reset(outer);
  }
  return node;
}

struct Override {
  std::vector<std::string> segments;  ///< parts of the key
  YAML::Node value;
};

Override parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const std::vector<std::string> segments = split_key(key);
  const bool misses_segment = std::find(segments.begin(), segments.end(), "") != segments.end();
  if (equals == std::string::npos || misses_segment || segments.size() > kDeepestKey) {
    throw ConfigError(
        fmt::format("{}: expected KEY=VALUE, such as holography.standoff_m=0.03, found \"{}\"", kOverrideLabel, text));
  }
  const std::string value = text.substr(equals + 1);
  if (value == "-") {  // standard input; "-" would start a list entry in YAML
    return {segments, YAML::Node(value)};
  }
  return {segments, parse_yaml(value, fmt::format("{}: {}", kOverrideLabel, key))};
}

/// True for `processors.NAME=null`, which takes a processor away.
bool removes_processor(const Override& one) {
  return one.segments.size() == 2 && one.segments.front() == "processors" && one.value.IsNull();
}

/// Value of an override that takes a processor away if there is one.
constexpr std::string_view kIfThere = "=~";

void read_file(const std::string& path, SettingsReader& reader, YamlProblems& problems) {
  try {
    reader.read(path == kStandardInput ? "standard input" : path, std::filesystem::path(path).parent_path(),
                load_yaml(path));
  } catch (const ConfigError& error) {
    problems.add(error.what());
  }
}

void read_override(const std::string& text, SettingsReader& reader, YamlProblems& problems) {
  try {
    const Override one = parse_override(text);
    if (removes_processor(one)) {
      if (!reader.remove_processor(one.segments.back()) && !text.ends_with(kIfThere)) {
        problems.add(fmt::format("{}: processors.{}: expected a processor to take away, found none of this name",
                                 kOverrideLabel, one.segments.back()));
      }
      return;
    }
    reader.read(std::string(kOverrideLabel), "", nest(one.segments, one.value));
    const std::string key = fmt::format("{}", fmt::join(one.segments, "."));
    if (one.value.IsNull() && !reader.settings().explicit_keys.contains(key) && !reader.failed(key)) {
      problems.add(fmt::format("{}: {}: expected a mapping, found nothing", kOverrideLabel, key));
    }
  } catch (const ConfigError& error) {
    problems.add(error.what());
  }
}

/// Makes the kind of a processor known before its settings are read, whatever the order of overrides.
void meet_processors(const std::string& text, SettingsReader& reader) {
  try {
    if (const Override one = parse_override(text); !removes_processor(one)) {
      reader.make_processors(nest(one.segments, one.value));
    }
  } catch (const ConfigError&) {  // read_override() reports it
  }
}

void report(const std::vector<Contradiction>& found, const SettingsReader& reader, YamlProblems& problems) {
  for (const Contradiction& one : found) {
    const std::string place = reader.place(one.key, one.element);
    problems.add(fmt::format("{}{}{}{}: {}", place, place.empty() ? "" : ": ", one.key, one.element, one.message));
  }
}

/// A key is settled if it was read correctly and no input changes it.
IsSettled settled_keys(const SettingsReader& reader, bool input_describes_itself) {
  return [&reader, input_describes_itself](std::string_view key) {
    const bool from_input =
        input_describes_itself && std::find(kKeysOfInputs.begin(), kKeysOfInputs.end(), key) != kKeysOfInputs.end();
    return !reader.failed(key) && (!from_input || reader.settings().explicit_keys.contains(std::string(key)));
  };
}

/// Reads the file and the overrides; adds errors to the problems.
void read_all(const std::string& path, const std::vector<std::string>& overrides, SettingsReader& reader,
              YamlProblems& problems) {
  if (!path.empty()) {
    read_file(path, reader, problems);
  }
  for (const std::string& text : overrides) {
    meet_processors(text, reader);
  }
  for (const std::string& text : overrides) {
    read_override(text, reader, problems);
  }
  reader.place_microphones();
}

}  // namespace

std::vector<std::string> lasting(std::vector<std::string> overrides) {
  for (std::string& text : overrides) {
    if (const Override one = parse_override(text); removes_processor(one)) {
      text = text.substr(0, text.find('=')).append(kIfThere);
    }
  }
  return overrides;
}

Settings load_settings(const std::string& path, const std::vector<std::string>& overrides) {
  YamlProblems problems;
  SettingsReader reader(problems);
  read_all(path, overrides, reader, problems);
  report(contradictions(reader.settings(), settled_keys(reader, true)), reader, problems);
  problems.throw_if_any();
  return reader.settings();
}

Settings parse_settings(const std::string& yaml, const std::string& label,
                        const std::vector<MicrophonePosition>& positions_m) {
  YamlProblems problems;
  SettingsReader reader(problems);
  try {
    reader.read(label, "", parse_yaml(yaml, label));
  } catch (const ConfigError& error) {
    problems.add(error.what());
  }
  if (positions_m.empty()) {
    reader.place_microphones();
  } else {
    reader.place_microphones(positions_m);
  }
  report(contradictions(reader.settings(), settled_keys(reader, true)), reader, problems);
  problems.throw_if_any();
  return reader.settings();
}

Settings load_recorded_settings(const std::string& yaml, const std::string& name,
                                const std::vector<std::string>& overrides, bool keeps_geometry) {
  YamlProblems problems;
  SettingsReader recorded(problems);
  const std::string label = fmt::format("{}: the settings it carries", name);
  try {
    recorded.read(label, "", parse_yaml(yaml, label));
  } catch (const ConfigError& error) {
    problems.add(error.what());
  }
  Settings base = recorded.settings();
  // A recording of an audio device holds the chosen channels alone.
  if (base.daemon->source.kind == DaemonSettings::SourceKind::kAudio) {
    base.array.channels.clear();
    base.explicit_keys.erase("array.channels");
  }
  if (!keeps_geometry) {
    for (const std::string_view key : kKeysOfInputs) {
      if (key != "front_end.frequencies_hz") {
        base.explicit_keys.erase(std::string(key));
      }
    }
    for (const char* const key : {"array.preset", "array.positions", "array.axes", "array.channels"}) {
      base.explicit_keys.erase(key);
    }
    base.array.preset.clear();
    base.array.positions_path.clear();
    base.array.axes.reset();
    base.array.channels.clear();
  } else if (!schema::front_end_kind(base.front_end.kind).takes_samples) {
    base.explicit_keys.erase("front_end.kind");  // the default for samples applies instead
  }
  for (const char* const key : {"array.layout", "array.sensitivity_dbfs", "array.pascal_per_unit", "array.clock_hz"}) {
    base.explicit_keys.erase(key);
  }
  base.device = DeviceSettings();
  for (ProcessorSettings& processor : base.processors) {
    processor.device.reset();
  }
  base.daemon = DaemonSection();
  SettingsReader reader(problems, std::move(base));
  read_all("", overrides, reader, problems);
  report(contradictions(reader.settings(), settled_keys(reader, true)), reader, problems);
  problems.throw_if_any();
  return reader.settings();
}

Settings load_daemon_settings(const std::string& path, const std::vector<std::string>& overrides) {
  YamlProblems problems;
  SettingsReader reader(problems);
  read_all(path, overrides, reader, problems);
  Settings settings = reader.settings();
  if (settings.daemon->source.kind != DaemonSettings::SourceKind::kFile &&
      settings.daemon->source.kind != DaemonSettings::SourceKind::kAudio &&
      !settings.explicit_keys.contains("array.channels")) {
    settings.array.channels.clear();  // a preset's are of its device
  }
  if (takes_live_samples(settings.daemon->source) && !settings.explicit_keys.contains("array.layout")) {
    settings.array.layout = WireLayout::kRowMajor;  // bits alone have a layout
  }
  const IsSettled is_settled = settled_keys(reader, !is_bare(settings.daemon->source));
  std::vector<Contradiction> found = contradictions(settings, is_settled);
  if (is_settled("front_end.frequencies_hz") && is_settled("front_end.window_samples")) {
    const bool is_rate_known = is_settled("array.clock_hz") && is_settled("daemon.source.sample_rate_hz");
    check_frequencies(
        settings, is_rate_known ? sample_rate_of(settings) : kFastestClock_hz / settings.front_end.decimation, found);
  }
  const DaemonSettings::Source& source = settings.daemon->source;
  if (is_bare(source) && !takes_live_samples(source) && settings.array.pascal_per_unit) {
    found.push_back({"array.pascal_per_unit", "",
                     fmt::format("expected none with daemon.source.payload bits, which array.sensitivity_dbfs scales, "
                                 "found {}",
                                 *settings.array.pascal_per_unit)});
  }
  if (const std::string lines = geometry_not_given(settings);
      takes_live_samples(source) && !lines.empty() && is_settled("array.preset")) {
    found.push_back({"daemon.source.payload", "",
                     "samples do not say where their microphones stand; expected what gives it:" + lines});
  }
  if (!settings.array.channels.empty() && source.kind != DaemonSettings::SourceKind::kFile &&
      source.kind != DaemonSettings::SourceKind::kAudio) {
    found.push_back({"array.channels", "",
                     "expected [] unless daemon.source.kind is audio or file, as another live stream has a "
                     "channel for each microphone"});
  }
  const std::size_t chosen = settings.array.channels.size();
  if (source.kind == DaemonSettings::SourceKind::kAudio && chosen > 0 &&
      chosen != static_cast<std::size_t>(settings.array.geometry.channels())) {
    found.push_back({"array.channels", "",
                     fmt::format("expected a channel of {} for each of the {} microphones, found {}", source.device,
                                 settings.array.geometry.channels(), chosen)});
  }
  if (path == kStandardInput && source.kind == DaemonSettings::SourceKind::kPipe && source.path == kStandardInput) {
    found.push_back(
        {"daemon.source.path", "", "expected a named pipe, as standard input holds the configuration, found \"-\""});
  }
  report(found, reader, problems);
  report(missing_here(settings, is_settled), reader, problems);
  problems.throw_if_any();
  return settings;
}

namespace {

/// Stands for a missing setting, as of a new or removed processor.
constexpr std::string_view kNone = "none";

/// Calls `found` with each setting that differs, and its value before and after as YAML.
template <typename Found>
void compare(Settings before, Settings after, const Found& found) {
  const schema::Section old_section = schema::describe(before);
  const schema::Section new_section = schema::describe(after);
  std::map<std::string, schema::NamedSetting> gone;
  for (const schema::NamedSetting& setting : all_settings(old_section)) {
    gone.emplace(setting.key, setting);
  }
  for (const schema::NamedSetting& setting : all_settings(new_section)) {
    const auto old = gone.extract(setting.key);
    const std::string old_value = old.empty() ? std::string(kNone) : old.mapped().entry->written();
    const std::string new_value = setting.entry->written();
    if (old_value != new_value) {
      found(setting, old_value, new_value);
    }
  }
  for (const auto& [key, setting] : gone) {
    found(setting, setting.entry->written(), std::string(kNone));
  }
}

}  // namespace

std::vector<std::string> changes(const Settings& before, const Settings& after) {
  std::vector<std::string> result;
  compare(before, after, [&](const schema::NamedSetting& setting, const std::string& was, const std::string& is) {
    result.push_back(fmt::format("{} {} -> {}", setting.key, was, is));
  });
  return result;
}

std::vector<std::string> changes_at_restart(const Settings& before, const Settings& after) {
  std::vector<std::string> keys;
  compare(before, after, [&](const schema::NamedSetting& setting, const std::string&, const std::string&) {
    const std::string& key = setting.unit_of_restart;
    if (setting.effect == schema::Effect::kRestart && std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(key);
    }
  });
  return keys;
}

namespace {

void write(const schema::Section& section, const std::string& indent, std::string& out) {
  for (const schema::Section::Entry& entry : section.entries()) {
    if (entry.section && entry.section->entries().empty()) {
      continue;
    }
    if (entry.section) {
      out += fmt::format("{}{}:\n", indent, entry.key);
      write(*entry.section, indent + "  ", out);
    } else {
      out += fmt::format("{}{}: {}\n", indent, entry.key, entry.written());
    }
  }
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (byte < 0x20U || byte == 0x7FU) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += character;
    }
  }
  return result + '"';
}

std::string to_yaml(const Settings& settings) {
  Settings copy = settings;  // a description is bound to variables that it could change
  std::string out = "version: 1\n";
  write(schema::describe(copy), "", out);
  return out;
}

}  // namespace nearfield
