#include "config/settings_reader.hpp"

#include <algorithm>

#include "config/schema/processor_kinds.hpp"
#include "config/schema/sections.hpp"

namespace nearfield {

std::string SettingsReader::place(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? "" : found->second;
}

void SettingsReader::read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node) {
  YamlMap map(label, "", node, *problems_);
  map.integer("version", 1, 1);
  make_processors(node);
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
      continue;  // the map of the section says so
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

void SettingsReader::read_section(YamlMap map, const schema::Section& section, const std::filesystem::path& folder) {
  for (const schema::Section::Entry& entry : section.entries()) {
    if (entry.section) {
      read_section(map.map(entry.key), *entry.section, folder);
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
      break;
  }
}

}  // namespace nearfield
