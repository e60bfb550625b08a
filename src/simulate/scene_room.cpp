#include <fmt/format.h>

#include <array>
#include <vector>

#include "simulate/scene_reader.hpp"

namespace nearfield {
namespace {

constexpr NumberRule kReflection{-1.0, 1.0, false, "a reflection factor of pressure from -1 to 1"};
constexpr int kMostReflections = 20;

void read_box(YamlMap& room, Scene& scene) {
  const auto size_m = room.vector("size_m", 3, kLength);
  const auto array_at_m = room.vector("array_at_m", 3, kLength);
  for (const char* key : {"size_m", "array_at_m"}) {
    if (!room.has(key)) {
      room.problem(
          key,
          "[x, y, z] in m: of a box, and of the array's centre in it, counted from its corner of least x, y and z");
    }
  }
  std::vector<double> reflection(6, 0.0);
  if (auto found = room.numbers("reflection", kReflection)) {
    if (found->size() == 1) {
      reflection.assign(6, found->front());
    } else if (found->size() == 6) {
      reflection = *found;
    } else {
      room.problem("reflection", "one reflection factor, or six, of the walls of least and greatest x, y and z");
    }
  } else if (!room.has("reflection")) {
    room.problem("reflection", std::string(kReflection.expected));
  }
  if (!size_m || !array_at_m) {
    return;
  }
  const std::array<double, 3> centre{0.0, 0.0, scene.measurement.standoff_m};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double low = centre[axis] - (*array_at_m)[axis];
    scene.room.walls[axis] = {Wall{.place_m = low, .reflection = reflection[2 * axis]},
                              Wall{.place_m = low + (*size_m)[axis], .reflection = reflection[2 * axis + 1]}};
  }
}

void read_wall(YamlMap& entry, Scene& scene) {
  constexpr std::array<const char*, 3> kPlaces{"x_m", "y_m", "z_m"};
  const std::array<double, 3> centre{0.0, 0.0, scene.measurement.standoff_m};
  const double reflection = required(entry, "reflection", kReflection);
  std::size_t places = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::optional<double> place_m = entry.number(kPlaces[axis], kAnyLength);
    if (!place_m) {
      continue;
    }
    ++places;
    std::optional<Wall>& wall = scene.room.walls[axis][*place_m < centre[axis] ? 0 : 1];
    if (wall) {
      entry.problem(kPlaces[axis], "at most one wall on each side of the array along an axis");
    }
    wall = Wall{.place_m = *place_m, .reflection = reflection};
  }
  if (places != 1) {
    entry.problem("reflection", "beside it one of x_m, y_m and z_m: where the wall crosses that axis");
  }
  entry.finish();
}

}  // namespace

void read_room(YamlMap room, Scene& scene) {
  if (const auto order = room.integer("order", 0, kMostReflections)) {
    scene.room.order = *order;
  }
  const bool has_box = room.has("size_m") || room.has("array_at_m") || room.has("reflection");
  if (room.has("walls")) {
    if (has_box) {
      room.problem("walls", "either single walls, or size_m, array_at_m and reflection of a box");
    }
    for (YamlMap& wall : room.maps("walls")) {
      read_wall(wall, scene);
    }
  } else if (has_box || room.has("order")) {
    read_box(room, scene);
  }
  room.finish();
  const std::vector<Point> microphones = microphones_of(scene);
  for (const Point& corner : {microphones.front(), microphones.back()}) {
    if (const std::string wall = scene.room.wall_before(corner); !wall.empty()) {
      room.problem(room.has("walls") ? "walls" : "array_at_m",
                   fmt::format("all microphones inside, but that at ({:.6g}, {:.6g}, {:.6g}) m lies on or behind {}",
                               corner.x_m, corner.y_m, corner.z_m, wall));
      return;
    }
  }
}

}  // namespace nearfield
