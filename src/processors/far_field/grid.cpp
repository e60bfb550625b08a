#include "processors/far_field/grid.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/text.hpp"

namespace nearfield::far_field {
namespace {

constexpr double kDegree = std::numbers::pi / 180.0;
constexpr Position kNowhere = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::quiet_NaN()};

std::vector<double> evenly_spaced(double first, double step, double count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = first + step * static_cast<double>(i);
  }
  return values;
}

/// Unit vector u to the source: u_x = sin(azimuth), u_y = sin(elevation).
Position of_angles(double azimuth_deg, double elevation_deg) {
  const double x = std::sin(azimuth_deg * kDegree);
  const double y = std::sin(elevation_deg * kDegree);
  const double rest = 1.0 - x * x - y * y;
  constexpr double kRounding = 1e-12;  // for the squares at 90 degrees
  return rest < -kRounding ? kNowhere : Position{x, y, -std::sqrt(std::max(rest, 0.0))};
}

/// Direction with azimuth around the array's axis, elevation from its plane into the field.
Position of_sphere(double azimuth_deg, double elevation_deg) {
  const double in_plane = std::cos(elevation_deg * kDegree);
  return {in_plane * std::cos(azimuth_deg * kDegree), in_plane * std::sin(azimuth_deg * kDegree),
          -std::sin(elevation_deg * kDegree)};
}

Position of_line(double angle_deg, LineAxis axis) {
  const double along = std::cos(angle_deg * kDegree);
  const double into = -std::sin(angle_deg * kDegree);
  return axis == LineAxis::kX ? Position{along, 0.0, into} : Position{0.0, along, into};
}

Position scaled(const Position& direction, double length) {
  return {direction.x * length, direction.y * length, direction.z * length};
}

/// Adds directions at each of some distances; without an axis of distances for plane waves.
void add_directions(Grid& grid, const Axis& distances, const std::vector<Position>& directions) {
  if (grid.is_far) {
    grid.pixels = directions;
    return;
  }
  for (const double distance : distances.values) {
    for (const Position& direction : directions) {
      grid.pixels.push_back(scaled(direction, distance));
    }
  }
  grid.axes.insert(grid.axes.begin(), distances);
}

Grid planes_of(const GridSettings& settings, const GridCounts& counts) {
  Grid grid;
  grid.axes = {{.name = "distance",
                .unit = "m",
                .values = settings.kind == GridKind::kPlane
                              ? settings.distance_m
                              : evenly_spaced(settings.distance_m.front(), settings.step_m, counts.planes)},
               {.name = "y", .unit = "m", .values = evenly_spaced(settings.y_m[0], settings.step_m, counts.rows)},
               {.name = "x", .unit = "m", .values = evenly_spaced(settings.x_m[0], settings.step_m, counts.columns)}};
  for (const double distance : grid.axes[0].values) {
    for (const double y : grid.axes[1].values) {
      for (const double x : grid.axes[2].values) {
        grid.pixels.push_back({x, y, -distance});
      }
    }
  }
  return grid;
}

Grid angles_of(const GridSettings& settings, const GridCounts& counts) {
  const bool is_sphere = settings.kind == GridKind::kSphere;
  Grid grid;
  grid.is_far = settings.is_infinitely_far();
  grid.axes = {{.name = "elevation",
                .unit = "deg",
                .values = evenly_spaced(settings.elevation_deg[0], settings.step_deg, counts.rows)},
               {.name = "azimuth",
                .unit = "deg",
                .values = evenly_spaced(settings.azimuth_deg[0], settings.step_deg, counts.columns)}};
  std::vector<Position> directions;
  for (const double elevation : grid.axes[0].values) {
    for (const double azimuth : grid.axes[1].values) {
      directions.push_back(is_sphere ? of_sphere(azimuth, elevation) : of_angles(azimuth, elevation));
    }
  }
  add_directions(grid,
                 {.name = is_sphere ? "radius" : "distance",
                  .unit = "m",
                  .values = is_sphere ? settings.radius_m : settings.distance_m},
                 directions);
  return grid;
}

Grid line_of(const GridSettings& settings) {
  const double step = (settings.angles_deg[1] - settings.angles_deg[0]) / (settings.count - 1);
  Grid grid;
  grid.is_far = settings.is_infinitely_far();
  grid.axes = {{.name = "angle", .unit = "deg", .values = evenly_spaced(settings.angles_deg[0], step, settings.count)}};
  std::vector<Position> directions;
  for (const double angle : grid.axes[0].values) {
    directions.push_back(of_line(angle, settings.axis));
  }
  add_directions(grid, {.name = "distance", .unit = "m", .values = settings.distance_m}, directions);
  return grid;
}

Grid points_of(const GridSettings& settings, double standoff_m, const std::string& key, const ArrayFiles* files) {
  Grid grid;
  grid.axes = {{.name = "point",
                .unit = "m",
                .values = read_points(settings.points_path, kMostPixels, key + ".points", files),
                .components = 3}};
  const std::vector<double>& values = grid.axes[0].values;
  for (std::size_t i = 0; i < values.size(); i += 3) {
    grid.pixels.push_back({values[i], values[i + 1], values[i + 2] - standoff_m});
  }
  return grid;
}

}  // namespace

Grid make_grid(const GridSettings& settings, double standoff_m, const std::string& key, const ArrayFiles* files) {
  const GridCounts counts = counts_of(settings);
  if (counts.pixels() > static_cast<double>(kMostPixels)) {
    throw ConfigError(fmt::format("{}: expected at most {} pixels in all planes together, found {:.0f}", key,
                                  kMostPixels, counts.pixels()));
  }
  switch (settings.kind) {
    case GridKind::kPlane:
    case GridKind::kVolume:
      return planes_of(settings, counts);
    case GridKind::kAngles:
    case GridKind::kSphere:
      return angles_of(settings, counts);
    case GridKind::kLine:
      return line_of(settings);
    case GridKind::kPoints:
      break;
  }
  return points_of(settings, standoff_m, key, files);
}

namespace {

constexpr std::size_t kComponents = 3;
constexpr double kFarthestPoint_m = 1e4;  ///< squares must fit in float32

void require_count(std::size_t count, std::size_t most, const std::string& path, const std::string& key) {
  if (count == 0 || count > most) {
    throw ConfigError(fmt::format("{}: expected a file of 1 to {} points, found {} in {}", key, most,
                                  count > most ? fmt::format("{} or more", count) : "none", path));
  }
}

bool is_place(double value) { return std::abs(value) <= kFarthestPoint_m; }  // false for NaN too

/// Removes comments, from '#', and blanks.
std::string content_of(const std::string& line) {
  std::string content;
  for (const char character : line) {
    if (character == '#') {
      break;
    }
    if (std::isspace(static_cast<unsigned char>(character)) == 0) {
      content += character;
    }
  }
  return content;
}

bool parse(const std::string& content, std::array<double, kComponents>& point) {
  const char* at = content.data();
  const char* const end = at + content.size();
  for (std::size_t i = 0; i < kComponents; ++i) {
    if (i > 0 && (at == end || *at++ != ',')) {
      return false;
    }
    const auto [next, error] = number_from(at, end, point[i]);
    if (error != std::errc() || !is_place(point[i])) {
      return false;
    }
    at = next;
  }
  return at == end;
}

std::vector<double> read_csv(const std::string& path, std::size_t most, const std::string& key) {
  std::ifstream file(path);
  if (!file) {
    throw NoInputError(fmt::format("{}: can't open {}", key, path));
  }
  std::vector<double> values;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string content = content_of(line);
    if (content.empty() || (values.empty() && is_heading_of_places(content))) {
      continue;
    }
    std::array<double, kComponents> point{};
    if (!parse(content, point)) {
      throw FileTextError([&](const FileTextStyle& shown) {
        return fmt::format("{}:{}: expected x_m,y_m,z_m, three numbers from {} to {} m, found {}", path, number,
                           -kFarthestPoint_m, kFarthestPoint_m, shown(line));
      });
    }
    require_count(values.size() / kComponents + 1, most, path, key);
    values.insert(values.end(), point.begin(), point.end());
  }
  require_count(values.size() / kComponents, most, path, key);
  return values;
}

/// Returns false also if there is no file.
bool is_text(const std::string& path) {
  constexpr std::array<char, 8> kSignature = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file.is_open() && start != kSignature;
}

}  // namespace

std::vector<double> read_points(const std::string& path, std::size_t most, const std::string& key,
                                const ArrayFiles* files) {
  if (files == nullptr || (!files->is_given(path) && is_text(path))) {
    return read_csv(path, most, key);
  }
  std::vector<double> values = files->points(path, most, key);
  require_count(values.size() / kComponents, most, path, key);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_place(values[i])) {
      throw DataError(fmt::format("{}: point {}: expected a place from {} to {} m, found {}", path, i / kComponents,
                                  -kFarthestPoint_m, kFarthestPoint_m, values[i]));
    }
  }
  return values;
}

}  // namespace nearfield::far_field
