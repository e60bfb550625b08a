#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulate/fields.hpp"

namespace nearfield {

/// Position of a source at a time.
struct PathPoint {
  double t_s = 0.0;
  Point position;
};

/// Motion of a source: along straight legs at constant speed between its points, at rest before the first and after the
/// last one. At least one point, times ascending, slower than sound. With a single point the source is at rest.
using Path = std::vector<PathPoint>;

/// Position of the source at time t.
Point position_at(const Path& path, double t_s);

/// The speed on the fastest leg, m/s; 0 at rest.
double highest_speed(const Path& path);

/// Travel time and distance of the sound that reaches a receiver at one time.
struct Emission {
  double delay_s = 0.0;
  double distance_m = 0.0;
};

/// Retarded times of a moving source at one receiver: t - delay is the time t_e that solves t = t_e + |p(t_e) - x|/c.
/// With D the source's distance from x at t as if it had stayed on the leg of t_e, and v its velocity there, the delay
/// is the root of (c^2 - v^2) delay^2 + 2 D.v delay - D^2 = 0 that is not negative (P. M. Morse, K. U. Ingard,
/// Theoretical Acoustics, 1968, section 11.2).
class RetardedPath {
 public:
  /// For times near t. `path` must outlive it.
  RetardedPath(const Path& path, const Point& place, double sound_speed_m_s, double t_s);

  /// Emission of the sound that arrives at time t. Cheap when t is close to the last one's.
  [[nodiscard]] Emission at(double t_s);

 private:
  /// The leg, and the arrival times of the sound of its ends.
  struct Leg {
    double begin_s, end_s;
    PathPoint from;
    double vx, vy, vz;
  };
  [[nodiscard]] double arrival_s(std::size_t point) const;
  void take_leg();

  std::span<const PathPoint> points_;
  Point place_;
  double c_;
  std::size_t number_ = 0;  ///< 0: before the first point; i: after point i - 1
  Leg leg_{};
};

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
