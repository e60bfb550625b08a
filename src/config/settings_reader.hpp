#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "config/yaml_reader.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// Lays the settings of YAML documents over the defaults, the later over the earlier, and remembers where each came
/// from.
class SettingsReader {
 public:
  explicit SettingsReader(YamlProblems& problems) : problems_(&problems) {}

  /// `folder` is where relative paths count from.
  void read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// "FILE:LINE" of a dotted key; empty when nobody gave it.
  [[nodiscard]] std::string place(const std::string& key) const;
  /// True when the key was given and its value was wrong.
  [[nodiscard]] bool failed(std::string_view key) const { return failed_.contains(key); }

 private:
  void read_array(YamlMap map, const std::filesystem::path& folder);
  void read_calibration(YamlMap& map, const std::filesystem::path& folder);
  void read_medium(YamlMap map);
  void read_front_end(YamlMap map);
  void read_popcount(YamlMap map);
  void read_walsh_fourier(YamlMap map);
  void read_window_samples(YamlMap& map);
  void read_frequencies(YamlMap& map);
  void read_holography(YamlMap map);
  void read_planes(YamlMap& map);
  void read_extrapolation(YamlMap map);
  void read_filter(YamlMap map);
  void read_cutoff(YamlMap& map);
  void read_device(YamlMap map);

  /// Stores what was read below `key` of `map`, if anything, and keeps account of it.
  template <typename Value, typename Target>
  void take(const YamlMap& map, const std::string& key, const std::optional<Value>& value, Target& target);
  template <typename Kind>
  void take_choice(YamlMap& map, const std::string& key, const std::vector<Kind>& kinds, Kind& target);

  YamlProblems* problems_;
  Settings settings_;
  std::map<std::string, std::string> places_;
  std::set<std::string, std::less<>> failed_;
};

}  // namespace nearfield
