#include <fmt/format.h>

#include <algorithm>

#include "config/config.hpp"
#include "config/schema/sections.hpp"

namespace nearfield {
namespace {

/// Calls `found` with each setting that differs, and with its value before and after as YAML.
template <typename Found>
void compare(Settings before, Settings after, const Found& found) {
  const schema::Section old_section = schema::describe(before);
  const schema::Section new_section = schema::describe(after);
  const std::vector<schema::NamedSetting> old_settings = all_settings(old_section);
  const std::vector<schema::NamedSetting> new_settings = all_settings(new_section);
  for (std::size_t i = 0; i < new_settings.size(); ++i) {
    const std::string old_value = old_settings[i].entry->written();
    const std::string new_value = new_settings[i].entry->written();
    if (old_value != new_value) {
      found(new_settings[i], old_value, new_value);
    }
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
