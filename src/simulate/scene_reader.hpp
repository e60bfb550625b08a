#pragma once
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "config/yaml_reader.hpp"
#include "simulate/scene.hpp"

/// Shared by the readers of a scene's parts; not part of the interface.
namespace nearfield {

inline constexpr double kLargestNumber = std::numeric_limits<double>::max();
inline constexpr NumberRule kAnyLength{-1e3, 1e3, false, "a length in m"};
inline constexpr NumberRule kLength{0.0, 1e3, true, "a length > 0 m"};
inline constexpr NumberRule kNotNegative{0.0, kLargestNumber, false, "a number >= 0"};
inline constexpr NumberRule kPositive{0.0, kLargestNumber, true, "a number > 0"};

/// The number below `key`, or 0 and a problem when it is absent or wrong.
double required(YamlMap& map, const std::string& key, const NumberRule& rule);
std::string required_text(YamlMap& map, const std::string& key, const std::string& expected);

template <typename Value>
void assign(std::optional<Value> found, Value& setting) {
  if (found) {
    setting = *std::move(found);
  }
}

/// The section `room`.
void read_room(YamlMap room, Scene& scene);
/// An entry of `sources`; everything above it in the scene must have been read.
void read_source(YamlMap& map, const std::filesystem::path& folder, Scene& scene);

}  // namespace nearfield
