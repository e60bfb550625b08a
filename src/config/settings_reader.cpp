#include "config/settings_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/array_presets.hpp"
#include "config/live_samples.hpp"
#include "config/positions_file.hpp"
#include "config/schema/processor_kinds.hpp"
#include "config/schema/section.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"

namespace nearfield {

std::string SettingsReader::place(const std::string& key, const std::string& element) const {
  if (const auto found = places_.find(key + element); found != places_.end()) {
    return found->second;
  }
  std::string around = key;
  for (auto found = places_.find(around);; found = places_.find(around)) {
    if (found != places_.end()) {
      return found->second;
    }
    const std::size_t point = around.rfind('.');
    if (point == std::string::npos) {
      return "";
    }
    around.resize(point);
  }
}

void SettingsReader::read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node) {
  YamlMap map(label, "", node, *problems_);
  map.integer("version", 1, 1);
  make_processors(node);
  make_limits(node);
  read_section(std::move(map), schema::describe(settings_), folder);
}

void SettingsReader::make_processors(const YAML::Node& document) {
  const YAML::Node named = document.IsMap() ? document["processors"] : YAML::Node();
  if (!named || !named.IsMap()) {
    return;
  }
  std::vector<ProcessorSettings>& processors = settings_.processors;
  for (const auto& one : named) {
    if (!one.first.IsScalar()) {
      continue;  // reported when the section is read
    }
    const std::string name = one.first.Scalar();
    auto processor = std::find_if(processors.begin(), processors.end(),
                                  [&](const ProcessorSettings& known) { return known.name == name; });
    if (processor == processors.end()) {
      processor = processors.emplace(processors.end());
      processor->name = name;
    }
    const YAML::Node kind = one.second.IsMap() ? one.second["kind"] : YAML::Node();
    if (kind && kind.IsScalar() && kind.Scalar() != processor->kind) {
      const schema::ProcessorKind* const known = schema::processor_kind(kind.Scalar());
      processor->kind = known == nullptr ? std::string() : kind.Scalar();
      processor->own = known == nullptr ? nullptr : known->make();
    }
  }
}

bool SettingsReader::remove_processor(const std::string& name) {
  std::erase_if(settings_.explicit_keys,
                [of = fmt::format("processors.{}.", name)](const std::string& key) { return key.starts_with(of); });
  return std::erase_if(settings_.processors, [&](const ProcessorSettings& one) { return one.name == name; }) > 0;
}

void SettingsReader::make_limits(const YAML::Node& document) {
  const YAML::Node daemon = document.IsMap() ? document["daemon"] : YAML::Node();
  const YAML::Node named = daemon && daemon.IsMap() ? daemon["limits"] : YAML::Node();
  if (!named || !named.IsMap()) {
    return;
  }
  std::vector<DaemonSettings::Limit>& limits = settings_.daemon->limits;
  for (const auto& one : named) {
    const std::string name = one.first.IsScalar() ? one.first.Scalar() : std::string();
    const bool is_known = std::any_of(limits.begin(), limits.end(),
                                      [&](const DaemonSettings::Limit& limit) { return limit.name == name; });
    if (!name.empty() && !is_known) {
      limits.emplace_back().name = name;
    }
  }
}

/// Takes from the preset all that was not given.
void SettingsReader::use_preset() {
  constexpr const char* kKey = "array.preset";
  ArraySettings& array = settings_.array;
  const ArrayPreset* const preset = array_preset(array.preset);
  if (preset == nullptr || failed(kKey)) {
    return;
  }
  if (!array.positions_path.empty()) {
    problems_->add(
        fmt::format("{}: {}: expected none beside array.positions, which places the microphones too, found {}",
                    place(kKey), kKey, array.preset));
    return;
  }
  take_geometry(geometry_of(preset->positions_m), fmt::format("array.preset {}", array.preset));
  if (!settings_.explicit_keys.contains("array.channels")) {
    array.channels = preset->channels;
  }
  DaemonSettings::Source& source = settings_.daemon->source;
  if (takes_live_samples(source) && !source.sample_rate_hz) {
    source.sample_rate_hz = preset->sample_rate_hz;
  }
}

void SettingsReader::place_microphones() {
  use_preset();
  constexpr const char* kKey = "array.positions";
  ArraySettings& array = settings_.array;
  if (array.positions_path.empty() || failed(kKey)) {
    return;
  }
  ArrayGeometry geometry;
  try {
    geometry = read_positions(array.positions_path, array.axes);
  } catch (const ConfigError& error) {
    const std::string where = place(kKey);
    problems_->add(fmt::format("{}{}{}", where, where.empty() ? "" : ": ", error.what()));
    failed_.insert(kKey);
    return;
  }
  take_geometry(std::move(geometry), fmt::format("array.positions {}", array.positions_path));
}

void SettingsReader::place_microphones(std::vector<MicrophonePosition> positions_m) {
  if (const std::string flaw = flaw_of_positions(positions_m); !flaw.empty()) {
    problems_->add(fmt::format("array.positions: {}", flaw));
    return;
  }
  const AxesOfFile axes = settings_.array.axes.value_or(AxesOfFile());
  for (MicrophonePosition& one : positions_m) {
    one = on_axes(axes, one);
  }
  take_geometry(geometry_of(std::move(positions_m)), "the given positions");
}

void SettingsReader::take_geometry(ArrayGeometry geometry, const std::string& source) {
  ArraySettings& array = settings_.array;
  const auto take = [&](const std::string& key, double given, double in_file) {
    constexpr double kTolerance = 0.01;  // the tolerance for positions on a grid
    if (settings_.explicit_keys.contains(key) && !(std::abs(given - in_file) <= kTolerance * std::abs(in_file))) {
      const std::string where = place(key);
      problems_->add(fmt::format("{}{}{}: expected nothing or {:.6g}, which {} gives ({} microphones), found {:.6g}",
                                 where, where.empty() ? "" : ": ", key, in_file, source, text_of_size(geometry),
                                 given));
      failed_.insert(key);
    }
    settings_.explicit_keys.insert(key);
  };
  take("array.rows", array.geometry.rows, geometry.rows);
  take("array.columns", array.geometry.columns, geometry.columns);
  take("array.pitch_x_m", array.geometry.pitch_x_m, geometry.pitch_x_m);
  take("array.pitch_y_m", array.geometry.pitch_y_m, geometry.pitch_y_m);
  constexpr int kSoramaSide = 32;
  if ((geometry.rows != kSoramaSide || geometry.columns != kSoramaSide) &&
      !settings_.explicit_keys.contains("array.layout")) {
    array.layout = WireLayout::kRowMajor;  // the only one possible
  }
  array.geometry = std::move(geometry);
}

void SettingsReader::read_section(YamlMap map, const schema::Section& section, const std::filesystem::path& folder) {
  for (const schema::Section::Entry& entry : section.entries()) {
    if (entry.section) {
      YamlMap below = map.map(entry.key);
      if (map.has(entry.key)) {
        places_.emplace(map.dotted(entry.key), below.place_of_all());
      }
      read_section(std::move(below), *entry.section, folder);
    } else {
      read_setting(map, entry, folder);
    }
  }
  map.finish();
}

void SettingsReader::read_setting(YamlMap& map, const schema::Section::Entry& setting,
                                  const std::filesystem::path& folder) {
  const std::string name = map.dotted(setting.key);
  switch (setting.read(map, folder)) {
    case schema::Outcome::kAbsent:
      break;
    case schema::Outcome::kWrong:
      failed_.insert(name);
      break;
    case schema::Outcome::kTaken:
      settings_.explicit_keys.insert(name);
      places_[name] = map.place(setting.key);
      std::erase_if(places_,
                    [&](const auto& one) { return one.first.starts_with(name + '['); });  // from an earlier document
      for (std::size_t i = 0; i < map.elements(setting.key); ++i) {
        places_[fmt::format("{}[{}]", name, i)] = map.place_of_element(setting.key, i);
      }
      break;
  }
}

}  // namespace nearfield
