#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/config.hpp"
#include "core/error.hpp"

namespace nearfield {
namespace {

/// A key that images require, and the word for its value in a message.
struct NeededKey {
  std::string_view key;
  std::string_view value;
};
constexpr std::array kLines = {
    std::array{NeededKey{"array.rows", "ROWS"}, NeededKey{"array.columns", "COLUMNS"}},
    std::array{NeededKey{"array.pitch_x_m", "METRES"}, NeededKey{"array.pitch_y_m", "METRES"}},
    std::array{NeededKey{"holography.standoff_m", "METRES"}, NeededKey{"", ""}},
};

constexpr const char* kPascalPerUnit = "array.pascal_per_unit";

}  // namespace

std::string geometry_not_given(const Settings& settings) {
  std::string lines;
  for (const auto& keys : kLines) {
    std::string line;
    for (const auto& [key, value] : keys) {
      if (!key.empty() && !settings.explicit_keys.contains(std::string(key))) {
        line += fmt::format(" --set {}={}", key, value);
      }
    }
    lines += line.empty() ? "" : "\n " + line;
  }
  return lines;
}

void require_geometry(const Settings& settings, const std::string& name, int channels) {
  const std::string lines = geometry_not_given(settings);
  if (!lines.empty()) {
    throw ConfigError(
        fmt::format("{} has {} channels and does not say where its microphones stand. Expected their rows and columns, "
                    "the distances between them (or array.positions, a file of all places) and the distance from the "
                    "surface, in the configuration or as options:{}",
                    name, channels, lines));
  }
}

std::optional<double> pascal_per_unit_for(const Settings& settings, const std::string& name, bool file_says_it) {
  const bool is_of_another_file = file_says_it && !settings.explicit_keys.contains(kPascalPerUnit);
  return pascal_per_unit_for(is_of_another_file ? std::nullopt : settings.array.pascal_per_unit, name, file_says_it);
}

std::optional<double> pascal_per_unit_for(std::optional<double> given, const std::string& name, bool file_says_it) {
  if (!file_says_it && !given) {
    throw ConfigError(
        fmt::format("{} does not say how many pascal its values are. Expected the pascal of full scale where they are "
                    "integers, or of the value 1 where they are floats (1 where these are pascal):\n  --set {}=PASCAL\n"
                    "  (encode and send: --pascal-per-unit PASCAL)",
                    name, kPascalPerUnit));
  }
  if (file_says_it && given) {
    throw ConfigError(fmt::format("{} (--pascal-per-unit): found {}, but {} says its own unit; remove the setting",
                                  kPascalPerUnit, *given, name));
  }
  return given;
}

}  // namespace nearfield
