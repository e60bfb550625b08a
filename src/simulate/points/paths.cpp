#include "simulate/points/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield {
namespace {

struct Velocity {
  double x, y, z;
};

Velocity velocity_of_leg(std::span<const PathPoint> points, std::size_t leg) {
  if (leg == 0 || leg == points.size()) {
    return {0.0, 0.0, 0.0};
  }
  const PathPoint& from = points[leg - 1];
  const PathPoint& to = points[leg];
  const double seconds = to.t_s - from.t_s;
  return {(to.position.x_m - from.position.x_m) / seconds, (to.position.y_m - from.position.y_m) / seconds,
          (to.position.z_m - from.position.z_m) / seconds};
}

/// 0: before the first point; i: after point i - 1.
std::size_t leg_at(std::span<const PathPoint> points, double t_s) {
  const auto next = std::upper_bound(points.begin(), points.end(), t_s,
                                     [](double time_s, const PathPoint& point) { return time_s < point.t_s; });
  return static_cast<std::size_t>(next - points.begin());
}

Point along(const PathPoint& from, const Velocity& velocity, double t_s) {
  const double seconds = t_s - from.t_s;
  return {from.position.x_m + velocity.x * seconds, from.position.y_m + velocity.y * seconds,
          from.position.z_m + velocity.z * seconds};
}

}  // namespace

Point position_at(const Path& path, double t_s) {
  const std::size_t leg = leg_at(path, t_s);
  return leg == 0 ? path.front().position : along(path[leg - 1], velocity_of_leg(path, leg), t_s);
}

double highest_speed(const Path& path) {
  double highest = 0.0;
  for (std::size_t leg = 1; leg < path.size(); ++leg) {
    const Velocity v = velocity_of_leg(path, leg);
    highest = std::max(highest, std::hypot(v.x, v.y, v.z));
  }
  return highest;
}

RetardedPath::RetardedPath(const Path& path, const Point& place, double sound_speed_m_s, double t_s)
    : points_(path), place_(place), c_(sound_speed_m_s), number_(leg_at(path, t_s)) {
  take_leg();
}

double RetardedPath::arrival_s(std::size_t point) const {
  const Point& from = points_[point].position;
  return points_[point].t_s + std::hypot(from.x_m - place_.x_m, from.y_m - place_.y_m, from.z_m - place_.z_m) / c_;
}

void RetardedPath::take_leg() {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const Velocity v = velocity_of_leg(points_, number_);
  leg_ = {.begin_s = number_ == 0 ? -kNever : arrival_s(number_ - 1),
          .end_s = number_ == points_.size() ? kNever : arrival_s(number_),
          .from = points_[number_ == 0 ? 0 : number_ - 1],
          .vx = v.x,
          .vy = v.y,
          .vz = v.z};
}

Emission RetardedPath::at(double t_s) {
  while (!(t_s < leg_.end_s)) {
    ++number_;
    take_leg();
  }
  while (t_s < leg_.begin_s) {
    --number_;
    take_leg();
  }
  const Point now = along(leg_.from, {leg_.vx, leg_.vy, leg_.vz}, t_s);
  const double dx = now.x_m - place_.x_m;
  const double dy = now.y_m - place_.y_m;
  const double dz = now.z_m - place_.z_m;
  const double squared = dx * dx + dy * dy + dz * dz;
  const double away = dx * leg_.vx + dy * leg_.vy + dz * leg_.vz;
  const double slower = c_ * c_ - (leg_.vx * leg_.vx + leg_.vy * leg_.vy + leg_.vz * leg_.vz);
  const double root = std::sqrt(away * away + slower * squared);
  // Uses the form of the root without cancellation.
  const double delay_s = away > 0.0 ? squared / (away + root) : (root - away) / slower;
  return {.delay_s = delay_s, .distance_m = c_ * delay_s};
}

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
