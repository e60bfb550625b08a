#include "processors/far_field/grid.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"

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

}  // namespace nearfield::far_field
