#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nearfield/product.hpp"
#include "publish/pictures/map_marks.hpp"

/// The table `sources` of a processor that finds sources, whatever its kind.
namespace nearfield {

/// A row of the table.
struct FoundSource {
  std::uint32_t id = 0;     ///< of its track; 0: none
  std::uint32_t state = 0;  ///< 1 candidate, 2 confirmed, 4 coasting
  double x = 0.0;           ///< m on the axes of images, or of the unit vector to it
  double y = 0.0;
  double z = 0.0;
  double confidence = 0.0;
  double level_db = 0.0;

  [[nodiscard]] bool is_confirmed() const { return (state & 6U) != 0; }
};

/// The index of the table `sources` with these columns; nothing where a processor has none.
std::optional<std::size_t> sources_table(const ResultHeader& header);
/// Whether the table has unit vectors instead of places.
bool has_directions(const Product& table);
/// The rows of a frame's table.
std::vector<FoundSource> read_sources(const Product& table, std::span<const std::byte> bytes);

/// Where the array's plane lies on the axes of images, by the settings that a header carries; 0 where these are of
/// another version.
double standoff_of(const ResultHeader& header);

/// Azimuth and elevation in degrees of a direction (x, y, z) of any length, as `calibrate --direction` counts them:
/// x = sin(azimuth), y = sin(elevation).
struct Bearing {
  double azimuth_deg = 0.0;
  double elevation_deg = 0.0;
};
Bearing bearing_of(double x, double y, double z);

/// Circles on a map of y and x or of elevation and azimuth, with id, level and confidence; none on maps over other
/// axes. `indices` are those of the axes that are not drawn: of several distances a source is shown on the nearest one.
/// A direction is shown on planes where its line meets them.
std::vector<Circle> circles_on(const ResultHeader& map_header, const Product& map,
                               const std::vector<std::size_t>& indices, const Product& table,
                               const std::vector<FoundSource>& sources);

}  // namespace nearfield
