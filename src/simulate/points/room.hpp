#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simulate/fields.hpp"

namespace nearfield {

/// A plane wall across one axis.
struct Wall {
  double place_m = 0.0;     ///< position on its axis
  double reflection = 0.0;  ///< reflection factor of pressure, -1 to 1
};

/// Plane walls, at most two across each axis; none: the free field. Their reflections are image sources (J. B. Allen,
/// D. A. Berkley, "Image method for efficiently simulating small-room acoustics", J. Acoust. Soc. Am. 65, 1979) of
/// up to `order` reflections.
struct Room {
  std::array<std::array<std::optional<Wall>, 2>, 3> walls{};  ///< [x, y, z][below, above the array's centre]
  int order = 1;

  [[nodiscard]] bool is_free_field() const;
  /// The wall that a position lies on or behind, in words ("the wall at x_m = 2.5"); empty inside the room.
  [[nodiscard]] std::string wall_before(const Point& place) const;
};

/// Mirroring of a position p by the walls: (sign p + offset) on each axis.
struct Image {
  std::array<double, 3> sign{1.0, 1.0, 1.0};
  std::array<double, 3> offset_m{};
  double factor = 1.0;  ///< factor of pressure, the product of its walls' reflections

  [[nodiscard]] Point of(const Point& place) const;
  /// The position p' that is as far from any source as p is from that source's image.
  [[nodiscard]] Point seen_from(const Point& place) const;
};

/// The source itself first, then its images of up to `order` reflections, without those of walls that do not reflect.
std::vector<Image> images_of(const Room& room);

}  // namespace nearfield
