#include "simulate/points/motion.hpp"

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

}  // namespace nearfield
