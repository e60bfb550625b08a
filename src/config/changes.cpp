#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "config/schema/sections.hpp"

namespace nearfield {
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

}  // namespace nearfield
