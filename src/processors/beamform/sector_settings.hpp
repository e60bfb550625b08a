#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/form.hpp"
#include "processors/far_field/settings.hpp"

/// Named parts of a grid.
namespace nearfield {

/// Axes along which a sector is defined: x and y, azimuth and elevation, or the angle of a line.
enum class SectorSides { kPlane, kAngles, kLine };

/// A sector: all pixels whose coordinates lie in these ranges, both ends included, on each plane.
struct SectorSettings {
  std::string name;
  SectorSides sides = SectorSides::kPlane;
  std::array<double, 2> across = {0.0, 0.0};  ///< x in m, or azimuth or the line's angle in degrees
  std::array<double, 2> down = {0.0, 0.0};    ///< y in m, or elevation in degrees; unused for a line

  friend bool operator==(const SectorSettings&, const SectorSettings&) = default;
};

inline constexpr std::size_t kMostSectors = 64;

/// Pixels from `ends[0]` to `ends[1]`, among `count` pixels of which the first is at `first`, `step` apart.
struct PixelRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t centre = 0;  ///< pixel nearest to the middle of the ends
};
PixelRange pixels_between(const std::array<double, 2>& ends, double first, double step, std::size_t count);

/// Axes of sectors for this kind of grid, which must not be points.
SectorSides sides_of(far_field::GridKind kind);
/// Rows and columns of the grid inside the sector, which must have the grid's axes.
PixelRange rows_of(const SectorSettings& sector, const far_field::GridSettings& grid);
PixelRange columns_of(const SectorSettings& sector, const far_field::GridSettings& grid);
/// Reason why it is no sector of this grid: other axes, pixels that do not reach its ends, or none inside. Empty if
/// valid. The grid's kind is not points.
std::string flaw_of(const SectorSettings& sector, const far_field::GridSettings& grid);

/// A list of mappings, {name, x_m, y_m}, {name, azimuth_deg, elevation_deg} or {name, angle_deg}.
schema::Form<std::vector<SectorSettings>> sector_list();

}  // namespace nearfield
