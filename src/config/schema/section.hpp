#pragma once
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "config/schema/form.hpp"
#include "core/settings.hpp"

namespace nearfield::schema {

/// When a changed setting takes effect in a running daemon: with its next configuration, or after a restart.
enum class Effect { kLive, kRestart };

/// Access to the value of a setting: a variable, or a pair of functions.
template <typename Value>
struct Place {
  Place(Value& variable)
      : get([&variable] { return variable; }), set([&variable](Value value) { variable = std::move(value); }) {}
  Place(std::function<Value()> read, std::function<void(Value)> write) : get(std::move(read)), set(std::move(write)) {}
  std::function<Value()> get;
  std::function<void(Value)> set;
};

/// The settings of one YAML mapping, in the order in which they are written, each bound to the variable that holds it.
///
/// A setting is described in one line of its section, and its default is the initialiser of its variable. Reader,
/// writer, pages, JSON and the rules on restarts walk this description and know no setting by name.
class Section {
 public:
  struct Entry;

  /// Adds a setting. `meaning` describes it in a sentence; unit, range and words come from `form`.
  template <typename Value>
  void add(const std::string& key, std::type_identity_t<Place<Value>> place, Form<Value> form, std::string meaning,
           Effect effect = Effect::kLive);
  /// Adds a section below this one, which lives as long as this one. With kRestart everything below takes effect at a
  /// restart, and refusals name the section.
  Section& section(const std::string& key, std::string meaning = "", Effect effect = Effect::kLive);

  [[nodiscard]] const std::list<Entry>& entries() const { return entries_; }

 private:
  std::list<Entry> entries_;
};

/// Result of reading a key of a document.
enum class Outcome { kAbsent, kWrong, kTaken };

/// A setting, or a section of settings.
struct Section::Entry {
  std::string key;
  std::string meaning;
  Effect effect = Effect::kLive;
  std::unique_ptr<Section> section = {};  ///< null for a setting
  // Settings only:
  Facts facts = {};
  std::function<Outcome(YamlMap& map, const std::filesystem::path& folder)> read = {};
  std::function<std::string()> written = {};  ///< the current value, as YAML in one line
};

template <typename Value>
void Section::add(const std::string& key, std::type_identity_t<Place<Value>> place, Form<Value> form,
                  std::string meaning, Effect effect) {
  Entry entry{.key = key, .meaning = std::move(meaning), .effect = effect};
  entry.facts = std::move(form.facts);
  entry.written = [get = std::move(place.get), write = std::move(form.write)] { return write(get()); };
  entry.read = [key, set = std::move(place.set), read = std::move(form.read)](YamlMap& map,
                                                                              const std::filesystem::path& folder) {
    std::optional<Value> value = read(map, key, folder);  // records the key, also where it is absent
    if (!map.has(key)) {
      return Outcome::kAbsent;
    }
    if (!value) {
      return Outcome::kWrong;
    }
    set(std::move(*value));
    return Outcome::kTaken;
  };
  entries_.push_back(std::move(entry));
}

inline Section& Section::section(const std::string& key, std::string meaning, Effect effect) {
  Entry entry{.key = key, .meaning = std::move(meaning), .effect = effect};
  entry.section = std::make_unique<Section>();
  entries_.push_back(std::move(entry));
  return *entries_.back().section;
}

/// A setting among all, with its dotted key.
struct NamedSetting {
  std::string key;
  const Section::Entry* entry = nullptr;
  Effect effect = Effect::kLive;     ///< its own, or that of an enclosing section
  std::string unit_of_restart = {};  ///< with kRestart: the dotted key that a refusal names
};

/// All settings of `section` and its subsections, in their order.
std::vector<NamedSetting> all_settings(const Section& section);

}  // namespace nearfield::schema

/// The sections of a configuration. Each function describes one, whose settings are stored in its second argument.
namespace nearfield::schema {

void describe(Section& section, ArraySettings& array);
void describe(Section& section, MediumSettings& medium);
void describe(Section& section, FrontEndSettings& front_end);
void describe(Section& section, FrontEndOverrides& front_end);
void describe(Section& section, HolographySettings& holography);
/// Capabilities of an imager.
struct ImagerParts {
  bool searches = true;   ///< has a search that is too slow for every frame
  bool filters = true;    ///< extrapolates and filters
  bool surfaces = true;   ///< makes images on other surfaces than planes
  bool operators = true;  ///< has a prior of sources at places
};
/// Settings of images for any imager: all of the above except the imager and the standoff.
void describe_images(Section& section, HolographySettings& holography, const ImagerParts& parts);
/// A section for each, under its name.
void describe(Section& section, std::vector<ProcessorSettings>& processors);
void describe(Section& section, DeviceSettings& device);
void describe(Section& section, DaemonSettings& daemon);
/// A section for each, under its name.
void describe_limits(Section& section, DaemonSettings& daemon);

/// All sections, kept in `settings`, which must live as long as the description.
Section describe(Settings& settings);

}  // namespace nearfield::schema
