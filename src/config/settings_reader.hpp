#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "config/schema/section.hpp"
#include "config/yaml_reader.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// Applies the settings of YAML documents to the defaults, later documents after earlier ones, and records the position
/// of each.
class SettingsReader {
 public:
  /// `base` holds the defaults.
  explicit SettingsReader(YamlProblems& problems, Settings base = Settings())
      : problems_(&problems), settings_(std::move(base)) {}

  /// `folder` is the base of relative paths.
  void read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node);
  /// Creates the processors that a document names, with the settings of their kinds, so that these can be described.
  /// read() does so too.
  void make_processors(const YAML::Node& document);
  /// Takes a processor away, with all of its settings; false where there is none of this name.
  bool remove_processor(const std::string& name);
  /// Creates the limits that a document names.
  void make_limits(const YAML::Node& document);

  /// Call after all documents: reads the file of positions, if one is named, into the geometry, which then counts as
  /// given. Throws DataError if the file does not hold positions; other problems are added.
  void place_microphones();
  /// Uses positions that a program holds in place of a file.
  void place_microphones(std::vector<MicrophonePosition> positions_m);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// "FILE:LINE:COLUMN" of the value at a dotted key, or of its element ("[2]"). For a key that was not given, that of
  /// the nearest enclosing section that was; empty if there is none.
  [[nodiscard]] std::string place(const std::string& key, const std::string& element = "") const;
  /// True when the key was given and its value was wrong.
  [[nodiscard]] bool failed(std::string_view key) const { return failed_.contains(key); }

 private:
  void use_preset();
  void take_geometry(ArrayGeometry geometry, const std::string& source);
  void read_section(YamlMap map, const schema::Section& section, const std::filesystem::path& folder);
  void read_setting(YamlMap& map, const schema::Section::Entry& setting, const std::filesystem::path& folder);

  YamlProblems* problems_;
  Settings settings_;
  std::map<std::string, std::string> places_;
  std::set<std::string, std::less<>> failed_;
};

}  // namespace nearfield
