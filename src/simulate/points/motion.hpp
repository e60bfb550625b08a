#pragma once
#include <cstddef>
#include <span>
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

}  // namespace nearfield
