#include "imaging/shared/image_surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kSpace = 3;

/// Heights at pixels, [row][column].
struct HeightMap {
  const std::vector<double>& z_m;
  std::ptrdiff_t rows;
  std::ptrdiff_t columns;

  [[nodiscard]] std::optional<double> at(std::ptrdiff_t row, std::ptrdiff_t column) const {
    if (row < 0 || row >= rows || column < 0 || column >= columns) {
      return std::nullopt;
    }
    const double height_m = z_m[static_cast<std::size_t>(row * columns + column)];
    return std::isfinite(height_m) ? std::optional(height_m) : std::nullopt;
  }
};

/// Slope from the existing neighbours; 0 if there are none.
double height_slope(const std::optional<double>& before_m, double here_m, const std::optional<double>& behind_m,
                    double step_m) {
  if (before_m && behind_m) {
    return (*behind_m - *before_m) / (2.0 * step_m);
  }
  if (behind_m) {
    return (*behind_m - here_m) / step_m;
  }
  return before_m ? (here_m - *before_m) / step_m : 0.0;
}

void require_grid(const SurfaceData& data, const ImageGrid& grid, const std::string& key) {
  const auto rows = static_cast<std::size_t>(grid.rows());
  const auto columns = static_cast<std::size_t>(grid.columns());
  if (data.rows != rows || data.columns != columns) {
    throw ConfigError(
        fmt::format("{}: expected z_m of {} x {} pixels (those of the images, upsample {} to a pitch from the first "
                    "microphone to the last, or over the grid that irregular arrays have), found {} x {}",
                    key, rows, columns, grid.upsample, data.rows, data.columns));
  }
}

ImageSurface surface_of_heights(const SurfaceData& data, const ImageGrid& grid) {
  const HeightMap map{.z_m = data.z_m,
                      .rows = static_cast<std::ptrdiff_t>(data.rows),
                      .columns = static_cast<std::ptrdiff_t>(data.columns)};
  ImageSurface surface{
      .rows = static_cast<int>(data.rows), .columns = static_cast<int>(data.columns), .places_m = {}, .normals = {}};
  for (std::ptrdiff_t row = 0; row < map.rows; ++row) {
    for (std::ptrdiff_t column = 0; column < map.columns; ++column) {
      const std::optional<double> height_m = map.at(row, column);
      surface.places_m.emplace_back(grid.x_m(static_cast<int>(column)), grid.y_m(static_cast<int>(row)),
                                    height_m.value_or(0.0));
      if (!height_m) {
        surface.normals.emplace_back(Eigen::Vector3d::Zero());
        continue;
      }
      const double slope_x =
          height_slope(map.at(row, column - 1), *height_m, map.at(row, column + 1), grid.pitch_x_m / grid.upsample);
      const double slope_y =
          height_slope(map.at(row - 1, column), *height_m, map.at(row + 1, column), grid.pitch_y_m / grid.upsample);
      surface.normals.emplace_back(Eigen::Vector3d(-slope_x, -slope_y, 1.0).normalized());
    }
  }
  return surface;
}

ImageSurface surface_of_points(const SurfaceData& data, const ImageGrid& grid, const std::string& key) {
  ImageSurface surface{
      .rows = 1, .columns = static_cast<int>(data.columns), .places_m = {}, .normals = {}, .is_points = true};
  const double most_x_m = grid.node_columns * grid.pitch_x_m;
  const double most_y_m = grid.node_rows * grid.pitch_y_m;
  for (std::size_t i = 0; i < data.columns; ++i) {
    const Eigen::Vector3d place(data.xyz_m[kSpace * i], data.xyz_m[kSpace * i + 1], data.xyz_m[kSpace * i + 2]);
    if (!(std::abs(place.x() - grid.centre_x_m) <= most_x_m) || !(std::abs(place.y() - grid.centre_y_m) <= most_y_m)) {
      throw ConfigError(
          fmt::format("{}: expected points with x from {:.6g} to {:.6g} m and y from {:.6g} to {:.6g} m, "
                      "found x {:.6g} m, y {:.6g} m at point {}",
                      key, grid.centre_x_m - most_x_m, grid.centre_x_m + most_x_m, grid.centre_y_m - most_y_m,
                      grid.centre_y_m + most_y_m, place.x(), place.y(), i));
    }
    surface.places_m.push_back(place);
    surface.normals.emplace_back(0.0, 0.0, 1.0);
  }
  return surface;
}

void take_normals(ImageSurface& surface, const SurfaceData& data, const std::string& key) {
  for (std::size_t i = 0; i < surface.pixels(); ++i) {
    const Eigen::Vector3d normal(data.normals[kSpace * i], data.normals[kSpace * i + 1], data.normals[kSpace * i + 2]);
    if (!surface.has(i)) {
      continue;
    }
    const double length = normal.norm();
    if (!std::isfinite(length) || !(length > 0.0)) {
      throw ConfigError(
          fmt::format("{}: expected a normal of a length above 0 where there is a surface, found ({}, {}, "
                      "{}) at pixel {}",
                      key, normal.x(), normal.y(), normal.z(), i));
    }
    surface.normals[i] = normal / length;
  }
}

void require_heights(const SurfaceData& data, double standoff_m, const std::string& key) {
  bool has_any = false;
  const std::size_t count = data.is_points ? data.columns : data.z_m.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double height_m = data.is_points ? data.xyz_m[kSpace * i + 2] : data.z_m[i];
    if (std::isnan(height_m) && !data.is_points) {
      continue;
    }
    has_any = true;
    if (!(height_m < standoff_m) || !(height_m >= -standoff_m)) {
      throw ConfigError(
          fmt::format("{}: expected a surface from z = {:.6g} m (as far behind z = 0 as the microphones "
                      "stand in front of it) to below the microphones at {:.6g} m, found z = {:.6g} m at "
                      "{} {}",
                      key, -standoff_m, standoff_m, height_m, data.is_points ? "point" : "pixel", i));
    }
  }
  if (!has_any) {
    throw ConfigError(
        fmt::format("{}: expected at least one pixel with a finite height, found {} without", key, count));
  }
}

double extreme_height(const ImageSurface& surface, double sign) {
  double extreme = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < surface.pixels(); ++i) {
    extreme = surface.has(i) ? std::max(extreme, sign * surface.places_m[i].z()) : extreme;
  }
  return sign * extreme;
}

}  // namespace

double ImageSurface::lowest_m() const { return extreme_height(*this, -1.0); }

double ImageSurface::highest_m() const { return extreme_height(*this, 1.0); }

ImageSurface make_image_surface(const SurfaceData& data, const ImageGrid& grid, double standoff_m,
                                const std::string& key) {
  if (!data.is_points) {
    require_grid(data, grid, key);
  }
  require_heights(data, standoff_m, key);
  ImageSurface surface = data.is_points ? surface_of_points(data, grid, key) : surface_of_heights(data, grid);
  if (!data.normals.empty()) {
    take_normals(surface, data, key);
  }
  return surface;
}

}  // namespace nearfield
