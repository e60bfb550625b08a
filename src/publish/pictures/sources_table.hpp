#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/product.hpp"
#include "publish/pictures/map_marks.hpp"

/// The table `sources` of any processor that finds sources.
namespace nearfield {

/// A row of the table.
struct FoundSource {
  std::uint32_t id = 0;     ///< track id; 0: none
  std::uint32_t state = 0;  ///< 1 candidate, 2 confirmed, 4 coasting
  double x = 0.0;           ///< m on the axes of images, or component of the unit vector to it
  double y = 0.0;
  double z = 0.0;
  double confidence = 0.0;
  double level_db = 0.0;

  [[nodiscard]] bool is_confirmed() const { return (state & 6U) != 0; }
};

/// Index of the table `sources` with these columns; nullopt if a processor has none.
std::optional<std::size_t> sources_table(const ResultHeader& header);
/// True if the table has unit vectors instead of positions.
bool has_directions(const Product& table);
/// The rows of a frame's table.
std::vector<FoundSource> read_sources(const Product& table, std::span<const std::byte> bytes);

/// Position of the array's plane on the axes of images, from the header's settings; 0 if these are of another version.
double standoff_of(const ResultHeader& header);

/// Azimuth and elevation in degrees of a direction (x, y, z) of any length, with the convention of `calibrate
/// --direction`: x = sin(azimuth), y = sin(elevation).
struct Bearing {
  double azimuth_deg = 0.0;
  double elevation_deg = 0.0;
};
Bearing bearing_of(double x, double y, double z);

/// Circles on a map of y and x or of elevation and azimuth, with id, level and confidence; none on maps over other
/// axes. `indices` are those of the axes that are not drawn: with several distances, a source is shown on the nearest
/// one. A direction is shown at its line's intersection with each plane.
std::vector<Circle> circles_on(const ResultHeader& map_header, const Product& map,
                               const std::vector<std::size_t>& indices, const Product& table,
                               const std::vector<FoundSource>& sources);

}  // namespace nearfield
