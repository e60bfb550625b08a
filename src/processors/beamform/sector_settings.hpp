#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/form.hpp"
#include "processors/far_field/settings.hpp"

/// Parts of a grid that have names.
namespace nearfield {

/// Along which axes of a grid a sector lies: x and y, azimuth and elevation, or the angle of a line.
enum class SectorSides { kPlane, kAngles, kLine };

/// All pixels whose places along the axes lie in these ranges, both ends included, on each plane.
struct SectorSettings {
  std::string name;
  SectorSides sides = SectorSides::kPlane;
  std::array<double, 2> across = {0.0, 0.0};  ///< x in m, or azimuth or the line's angle in degrees
  std::array<double, 2> down = {0.0, 0.0};    ///< y in m, or elevation in degrees; not of a line

  friend bool operator==(const SectorSettings&, const SectorSettings&) = default;
};

inline constexpr std::size_t kMostSectors = 64;

/// Which of `count` pixels, the first at `first`, `step` apart, lie from `ends[0]` to `ends[1]`.
struct PixelRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t centre = 0;  ///< the one that is nearest to the middle of the ends
};
PixelRange pixels_between(const std::array<double, 2>& ends, double first, double step, std::size_t count);

/// The axes of a grid of this kind; not of points.
SectorSides sides_of(far_field::GridKind kind);
/// The sector's rows and columns of the grid, whose sides it has.
PixelRange rows_of(const SectorSettings& sector, const far_field::GridSettings& grid);
PixelRange columns_of(const SectorSettings& sector, const far_field::GridSettings& grid);
/// What keeps it from being a sector of this grid, in words: other axes, pixels that do not reach to its ends, or none
/// inside. Empty where nothing does. The grid's kind is not points.
std::string flaw_of(const SectorSettings& sector, const far_field::GridSettings& grid);

/// A list of mappings, {name, x_m, y_m}, {name, azimuth_deg, elevation_deg} or {name, angle_deg}.
schema::Form<std::vector<SectorSettings>> sector_list();

}  // namespace nearfield
