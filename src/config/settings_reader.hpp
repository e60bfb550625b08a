#pragma once
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/yaml_reader.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// Lays the settings of YAML documents over the defaults, the later over the earlier, and remembers where each came
/// from.
class SettingsReader {
 public:
  /// `base` holds where no document says otherwise.
  explicit SettingsReader(YamlProblems& problems, Settings base = Settings())
      : problems_(&problems), settings_(std::move(base)) {}

  /// `folder` is where relative paths count from.
  void read(const std::string& label, const std::filesystem::path& folder, const YAML::Node& node);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// "FILE:LINE" of a dotted key; empty when nobody gave it.
  [[nodiscard]] std::string place(const std::string& key) const;
  /// True when the key was given and its value was wrong.
  [[nodiscard]] bool failed(std::string_view key) const { return failed_.contains(key); }

 private:
  void read_array(YamlMap map, const std::filesystem::path& folder);
  void read_health(YamlMap map);
  void read_calibration(YamlMap& map, const std::filesystem::path& folder);
  void read_medium(YamlMap map);
  void read_front_end(YamlMap map);
  void read_popcount(YamlMap map);
  void read_walsh_fourier(YamlMap map);
  void read_window_samples(YamlMap& map);
  void read_frequencies(YamlMap& map);
  void read_bands(YamlMap& map);
  void read_holography(YamlMap map);
  void read_planes(YamlMap& map);
  void read_points(YamlMap& map);
  void read_extrapolation(YamlMap map);
  void read_filter(YamlMap map);
  void read_cutoff(YamlMap& map);
  void read_device(YamlMap map);
  // daemon_reader.cpp
  void read_daemon(YamlMap map, const std::filesystem::path& folder);
  void read_source(YamlMap map, const std::filesystem::path& folder);
  void read_publish(YamlMap map, const std::filesystem::path& folder);
  void read_ring(YamlMap map, const std::filesystem::path& folder);
  void read_zmq(YamlMap map, const std::filesystem::path& folder);
  void read_recording(YamlMap map, const std::filesystem::path& folder);
  void read_control(YamlMap map, const std::filesystem::path& folder);
  void read_access(YamlMap& map, DaemonSettings::Access& access);
  void read_metrics(YamlMap map);
  void read_realtime(YamlMap map);
  void read_deadlines(YamlMap map);
  void read_overload(YamlMap map);
  void read_log(YamlMap map);
  void read_no_input(YamlMap map);

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

template <typename Value, typename Target>
void SettingsReader::take(const YamlMap& map, const std::string& key, const std::optional<Value>& value,
                          Target& target) {
  if (!map.has(key)) {
    return;
  }
  const std::string name = map.dotted(key);
  if (!value) {
    failed_.insert(name);
    return;
  }
  target = *value;
  settings_.explicit_keys.insert(name);
  places_[name] = map.place(key);
}

template <typename Kind>
void SettingsReader::take_choice(YamlMap& map, const std::string& key, const std::vector<Kind>& kinds, Kind& target) {
  std::vector<std::string_view> names;
  std::transform(kinds.begin(), kinds.end(), std::back_inserter(names), [](Kind kind) { return name_of(kind); });
  const std::optional<std::size_t> index = map.choice(key, names);
  take(map, key, index ? std::optional<Kind>(kinds[*index]) : std::nullopt, target);
}

}  // namespace nearfield
