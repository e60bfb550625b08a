#include "simulate/points/room.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nearfield {
namespace {

constexpr std::array<const char*, 3> kAxes{"x_m", "y_m", "z_m"};

std::array<double, 3> coordinates(const Point& place) { return {place.x_m, place.y_m, place.z_m}; }

/// A coordinate mirrored `order` times.
struct Mirrored {
  double sign = 1.0;
  double offset_m = 0.0;
  double factor = 1.0;
  int order = 0;
};

/// Reflections alternate between the two walls, starting with either.
std::vector<Mirrored> mirrored_on_axis(const std::array<std::optional<Wall>, 2>& walls, int order) {
  std::vector<Mirrored> found{Mirrored{}};
  for (std::size_t first = 0; first < 2; ++first) {
    Mirrored image;
    for (std::size_t wall = first; image.order < order; wall = 1 - wall) {
      if (!walls[wall] || walls[wall]->reflection == 0.0) {
        break;
      }
      image = {.sign = -image.sign,
               .offset_m = 2 * walls[wall]->place_m - image.offset_m,
               .factor = image.factor * walls[wall]->reflection,
               .order = image.order + 1};
      found.push_back(image);
    }
  }
  return found;
}

}  // namespace

bool Room::is_free_field() const {
  return std::all_of(walls.begin(), walls.end(), [](const auto& pair) { return !pair[0] && !pair[1]; });
}

std::string Room::wall_before(const Point& place) const {
  const std::array<double, 3> p = coordinates(place);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto& [below, above] = walls[axis];
    if (below && !(p[axis] > below->place_m)) {
      return fmt::format("the wall at {} = {:.6g}", kAxes[axis], below->place_m);
    }
    if (above && !(p[axis] < above->place_m)) {
      return fmt::format("the wall at {} = {:.6g}", kAxes[axis], above->place_m);
    }
  }
  return "";
}

Point Image::of(const Point& place) const {
  return {sign[0] * place.x_m + offset_m[0], sign[1] * place.y_m + offset_m[1], sign[2] * place.z_m + offset_m[2]};
}

Point Image::seen_from(const Point& place) const {
  return {sign[0] * (place.x_m - offset_m[0]), sign[1] * (place.y_m - offset_m[1]),
          sign[2] * (place.z_m - offset_m[2])};
}

std::vector<Image> images_of(const Room& room) {
  std::vector<Image> images;
  for (const Mirrored& x : mirrored_on_axis(room.walls[0], room.order)) {
    for (const Mirrored& y : mirrored_on_axis(room.walls[1], room.order - x.order)) {
      for (const Mirrored& z : mirrored_on_axis(room.walls[2], room.order - x.order - y.order)) {
        images.push_back({.sign = {x.sign, y.sign, z.sign},
                          .offset_m = {x.offset_m, y.offset_m, z.offset_m},
                          .factor = x.factor * y.factor * z.factor});
      }
    }
  }
  return images;
}

}  // namespace nearfield
