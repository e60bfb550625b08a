#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "config/words.hpp"
#include "processors/beamform/settings.hpp"

namespace nearfield {
namespace {

using far_field::GridKind;
using far_field::GridSettings;

constexpr double kRoundingOfStep = 1e-6;  // fraction of a step
constexpr std::size_t kLongestSectorName = 31;
constexpr double kHalf = 0.5;

/// Pixels along one axis of a grid.
struct PixelAxis {
  std::string_view key;  ///< key of a sector's range along it
  std::string_view unit;
  double first = 0.0;
  double step = 1.0;
  std::size_t count = 1;

  [[nodiscard]] double last() const { return first + step * static_cast<double>(count - 1); }
};

std::string_view key_across(SectorSides sides) {
  return sides == SectorSides::kPlane ? "x_m" : sides == SectorSides::kAngles ? "azimuth_deg" : "angle_deg";
}

std::string_view key_down(SectorSides sides) { return sides == SectorSides::kPlane ? "y_m" : "elevation_deg"; }

std::string keys_of(SectorSides sides) {
  return sides == SectorSides::kLine ? std::string(key_across(sides))
                                     : fmt::format("{} and {}", key_across(sides), key_down(sides));
}

PixelAxis axis_across(const GridSettings& grid) {
  const auto count = static_cast<std::size_t>(far_field::counts_of(grid).columns);
  switch (sides_of(grid.kind)) {
    case SectorSides::kPlane:
      return {"x_m", "m", grid.x_m[0], grid.step_m, count};
    case SectorSides::kAngles:
      return {"azimuth_deg", "deg", grid.azimuth_deg[0], grid.step_deg, count};
    case SectorSides::kLine:
      break;
  }
  return {"angle_deg", "deg", grid.angles_deg[0], (grid.angles_deg[1] - grid.angles_deg[0]) / (grid.count - 1), count};
}

PixelAxis axis_down(const GridSettings& grid) {
  const auto count = static_cast<std::size_t>(far_field::counts_of(grid).rows);
  if (sides_of(grid.kind) == SectorSides::kPlane) {
    return {"y_m", "m", grid.y_m[0], grid.step_m, count};
  }
  return {"elevation_deg", "deg", grid.elevation_deg[0], grid.step_deg, count};
}

/// Fault of one range of a sector.
std::string flaw_along(const std::array<double, 2>& ends, const PixelAxis& axis) {
  const double least = axis.first - axis.step * (kHalf + kRoundingOfStep);
  const double most = axis.last() + axis.step * (kHalf + kRoundingOfStep);
  if (ends[0] < least || ends[1] > most) {
    return fmt::format("expected {} inside the grid's pixels, which reach from {:.6g} to {:.6g} {}, found [{}, {}]",
                       axis.key, axis.first - kHalf * axis.step, axis.last() + kHalf * axis.step, axis.unit, ends[0],
                       ends[1]);
  }
  if (pixels_between(ends, axis.first, axis.step, axis.count).count == 0) {
    return fmt::format("expected {} that holds a pixel, found [{}, {}], between two that are {:.6g} {} apart", axis.key,
                       ends[0], ends[1], axis.step, axis.unit);
  }
  return "";
}

bool is_name(const std::string& text) {
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ' ';
  };
  return !text.empty() && text.size() <= kLongestSectorName && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), may_stand);
}

/// Reads the required range at `key`.
std::optional<std::array<double, 2>> read_range(YamlMap& map, const std::string& key) {
  const NumberRule rule{.minimum = -1000.0, .maximum = 1000.0, .expected = "[first, last], numbers from -1000 to 1000"};
  if (!map.has(key)) {
    map.problem(key, std::string(rule.expected));
    return std::nullopt;
  }
  const auto values = map.vector(key, 2, rule);
  if (!values) {
    return std::nullopt;
  }
  if ((*values)[0] > (*values)[1]) {
    map.problem(key, "[first, last], the first not above the last");
    return std::nullopt;
  }
  return std::array<double, 2>{(*values)[0], (*values)[1]};
}

std::optional<SectorSettings> read_sector(YamlMap& map) {
  SectorSettings sector;
  const std::optional<std::string> name = map.text("name");
  const bool has_name = name && is_name(*name);
  if (!has_name && (name || !map.has("name"))) {
    map.problem("name", fmt::format("1 to {} letters, digits, spaces and _ - .", kLongestSectorName));
  }
  sector.name = name.value_or("");
  if (map.has("angle_deg")) {
    sector.sides = SectorSides::kLine;
  } else if (map.has("azimuth_deg") || map.has("elevation_deg")) {
    sector.sides = SectorSides::kAngles;
  }
  const auto across = read_range(map, std::string(key_across(sector.sides)));
  std::optional<std::array<double, 2>> down = sector.down;
  if (sector.sides != SectorSides::kLine) {
    down = read_range(map, std::string(key_down(sector.sides)));
  }
  map.finish();
  if (!has_name || !across || !down) {
    return std::nullopt;
  }
  sector.across = *across;
  sector.down = *down;
  return sector;
}

std::optional<std::vector<SectorSettings>> read_sectors(YamlMap& map, const std::string& key) {
  if (map.has(key) && !map.is_list(key)) {
    map.problem(key, "a list of sectors, such as [{name: left, x_m: [-0.5, 0], y_m: [-0.5, 0.5]}]");
    return std::nullopt;
  }
  std::vector<SectorSettings> sectors;
  bool is_good = true;
  for (YamlMap& element : map.maps(key)) {
    const std::optional<SectorSettings> sector = read_sector(element);
    is_good = is_good && sector;
    if (!sector) {
      continue;
    }
    if (std::any_of(sectors.begin(), sectors.end(), [&](const auto& one) { return one.name == sector->name; })) {
      element.problem("name", "a name that no other sector has");
      is_good = false;
    }
    sectors.push_back(*sector);
  }
  return is_good ? std::optional(sectors) : std::nullopt;
}

std::string write_sectors(const std::vector<SectorSettings>& sectors) {
  std::vector<std::string> texts;
  for (const SectorSettings& one : sectors) {
    const std::string down = one.sides == SectorSides::kLine
                                 ? ""
                                 : fmt::format(", {}: [{}, {}]", key_down(one.sides), one.down[0], one.down[1]);
    texts.push_back(fmt::format("{{name: {}, {}: [{}, {}]{}}}", quoted(one.name), key_across(one.sides), one.across[0],
                                one.across[1], down));
  }
  return list(texts);
}

}  // namespace

PixelRange pixels_between(const std::array<double, 2>& ends, double first, double step, std::size_t count) {
  const auto last_index = static_cast<double>(count - 1);
  if (!(step > 0.0)) {  // a line with a single, repeated angle
    return {.first = 0, .count = ends[0] <= first && first <= ends[1] ? count : 0, .centre = 0};
  }
  const double begin = std::max(0.0, std::ceil((ends[0] - first) / step - kRoundingOfStep));
  const double end = std::min(last_index, std::floor((ends[1] - first) / step + kRoundingOfStep));
  if (!(begin <= end)) {
    return {};
  }
  const double middle = std::round((kHalf * (ends[0] + ends[1]) - first) / step - kRoundingOfStep);
  return {.first = static_cast<std::size_t>(begin),
          .count = static_cast<std::size_t>(end - begin) + 1,
          .centre = static_cast<std::size_t>(std::clamp(middle, begin, end))};
}

SectorSides sides_of(GridKind kind) {
  switch (kind) {
    case GridKind::kAngles:
    case GridKind::kSphere:
      return SectorSides::kAngles;
    case GridKind::kLine:
      return SectorSides::kLine;
    case GridKind::kPlane:
    case GridKind::kVolume:
    case GridKind::kPoints:
      break;
  }
  return SectorSides::kPlane;
}

PixelRange rows_of(const SectorSettings& sector, const GridSettings& grid) {
  if (sector.sides == SectorSides::kLine) {
    return {.first = 0, .count = 1, .centre = 0};
  }
  const PixelAxis axis = axis_down(grid);
  return pixels_between(sector.down, axis.first, axis.step, axis.count);
}

PixelRange columns_of(const SectorSettings& sector, const GridSettings& grid) {
  const PixelAxis axis = axis_across(grid);
  return pixels_between(sector.across, axis.first, axis.step, axis.count);
}

std::string flaw_of(const SectorSettings& sector, const GridSettings& grid) {
  const SectorSides sides = sides_of(grid.kind);
  if (sector.sides != sides) {
    return fmt::format("expected {} with grid.kind: {}, found {}", keys_of(sides), far_field::name_of(grid.kind),
                       keys_of(sector.sides));
  }
  std::string across = flaw_along(sector.across, axis_across(grid));
  if (!across.empty() || sides == SectorSides::kLine) {
    return across;
  }
  return flaw_along(sector.down, axis_down(grid));
}

schema::Form<std::vector<SectorSettings>> sector_list() {
  schema::Form<std::vector<SectorSettings>> form;
  form.facts = {.type = "list of sectors",
                .range = fmt::format("at most {} of {{name: left, x_m: [-0.5, 0], y_m: [-0.5, 0.5]}}; azimuth_deg and "
                                     "elevation_deg with angles and sphere, angle_deg with line",
                                     kMostSectors)};
  form.read = [](YamlMap& map, const std::string& key, const std::filesystem::path&) { return read_sectors(map, key); };
  form.write = write_sectors;
  return schema::where(
      std::move(form), [](const auto& sectors) { return sectors.size() <= kMostSectors; },
      [](const auto& sectors) { return fmt::format("at most {} sectors (found {})", kMostSectors, sectors.size()); });
}

}  // namespace nearfield
