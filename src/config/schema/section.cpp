#include "config/schema/section.hpp"

namespace nearfield::schema {
namespace {

/// `above` has the dotted path of the section, with its final point, and the properties inherited by everything below.
void collect(const Section& section, const NamedSetting& above, std::vector<NamedSetting>& found) {
  for (const Section::Entry& entry : section.entries()) {
    NamedSetting one = above;
    one.key += entry.key;
    one.entry = &entry;
    if (entry.effect == Effect::kRestart && one.effect == Effect::kLive) {
      one.effect = Effect::kRestart;
      one.unit_of_restart = one.key;
    }
    if (entry.section) {
      one.key += '.';
      collect(*entry.section, one, found);
    } else {
      found.push_back(std::move(one));
    }
  }
}

}  // namespace

std::vector<NamedSetting> all_settings(const Section& section) {
  std::vector<NamedSetting> found;
  collect(section, {}, found);
  return found;
}

}  // namespace nearfield::schema
