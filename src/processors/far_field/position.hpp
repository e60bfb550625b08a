#pragma once
#include <cmath>

namespace nearfield::far_field {

/// A position or direction on the axes of images with the origin at the array's centre: x to the right, y down, z from
/// the field to the array.
struct Position {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
};

inline double dot(const Position& a, const Position& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline double norm(const Position& a) { return std::hypot(a.x, a.y, a.z); }
inline double distance(const Position& a, const Position& b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

}  // namespace nearfield::far_field
