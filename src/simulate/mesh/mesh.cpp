#include "simulate/mesh/mesh.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "simulate/mesh/sobol.hpp"

namespace nearfield {
namespace {

double area_of(const Triangle& triangle) {
  const double ux = triangle.b.x_m - triangle.a.x_m;
  const double uy = triangle.b.y_m - triangle.a.y_m;
  const double uz = triangle.b.z_m - triangle.a.z_m;
  const double vx = triangle.c.x_m - triangle.a.x_m;
  const double vy = triangle.c.y_m - triangle.a.y_m;
  const double vz = triangle.c.z_m - triangle.a.z_m;
  return std::hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / 2;
}

/// a + u (b - a) + v (c - a)
Point point_in(const Triangle& triangle, double u, double v) {
  const double w = 1 - u - v;
  return {w * triangle.a.x_m + u * triangle.b.x_m + v * triangle.c.x_m,
          w * triangle.a.y_m + u * triangle.b.y_m + v * triangle.c.y_m,
          w * triangle.a.z_m + u * triangle.b.z_m + v * triangle.c.z_m};
}

/// Area-preserving map of the unit square to the surface: along the first coordinate triangle by triangle, and within
/// each from its side a-b to its side a-c; along the second from the corner a to the opposite side.
class SurfaceMap {
 public:
  explicit SurfaceMap(std::span<const Triangle> triangles) : triangles_(triangles) {
    double sum = 0.0;
    for (const Triangle& triangle : triangles) {
      sum += area_of(triangle);
      ends_.push_back(sum);
    }
  }
  [[nodiscard]] double area() const { return ends_.back(); }

  struct Place {
    std::size_t triangle;
    Point point;
  };
  [[nodiscard]] Place of(const std::array<double, 2>& square) const {
    const double along = square[0] * area();
    const auto end = std::upper_bound(ends_.begin(), ends_.end() - 1, along);
    const auto triangle = static_cast<std::size_t>(end - ends_.begin());
    const double begin = triangle == 0 ? 0.0 : ends_[triangle - 1];
    const double share = std::clamp((along - begin) / (*end - begin), 0.0, 1.0);
    const double out = std::sqrt(square[1]);
    return {.triangle = triangle, .point = point_in(triangles_[triangle], out * (1 - share), out * share)};
  }

 private:
  std::span<const Triangle> triangles_;
  std::vector<double> ends_;  ///< cumulative areas of the triangles
};

FieldValue sum_of(std::span<const Monopole> points, const Tonal& tonal, const Point& place) {
  FieldValue sum{};
  for (const Monopole& source : points) {
    const FieldValue value = monopole_field(source, tonal, place);
    sum.pressure_pa += value.pressure_pa;
    sum.velocity_m_s += value.velocity_m_s;
  }
  return sum;
}

}  // namespace

Mesh make_mesh(const std::string& name, const std::vector<Triangle>& triangles, const Point& place,
               std::uint32_t points, bool baffled, std::uint64_t seed) {
  const SurfaceMap map(triangles);
  Mesh mesh{.name = name, .points = {}, .centre = {}, .spacing_m = std::sqrt(map.area() / points)};
  const double share = map.area() / points / static_cast<double>(Mesh::kScrambles);
  mesh.points.reserve(Mesh::kScrambles * points);
  for (std::size_t scramble = 0; scramble < Mesh::kScrambles; ++scramble) {
    const ScrambledSobol sobol(seed, scramble);
    for (std::uint32_t i = 0; i < points; ++i) {
      const SurfaceMap::Place at = map.of(sobol.point(i));
      mesh.points.push_back({{at.point.x_m + place.x_m, at.point.y_m + place.y_m, at.point.z_m + place.z_m},
                             share * triangles[at.triangle].velocity_m_s,
                             baffled});
    }
  }
  constexpr double kFar = std::numeric_limits<double>::infinity();
  mesh.low = {kFar, kFar, kFar};
  mesh.high = {-kFar, -kFar, -kFar};
  mesh.centre = place;
  for (const Triangle& triangle : triangles) {
    const double weight = area_of(triangle) / map.area() / 3;
    for (const Point& corner : {triangle.a, triangle.b, triangle.c}) {
      mesh.centre.x_m += weight * corner.x_m;
      mesh.centre.y_m += weight * corner.y_m;
      mesh.centre.z_m += weight * corner.z_m;
      const Point at{corner.x_m + place.x_m, corner.y_m + place.y_m, corner.z_m + place.z_m};
      mesh.low = {std::min(mesh.low.x_m, at.x_m), std::min(mesh.low.y_m, at.y_m), std::min(mesh.low.z_m, at.z_m)};
      mesh.high = {std::max(mesh.high.x_m, at.x_m), std::max(mesh.high.y_m, at.y_m), std::max(mesh.high.z_m, at.z_m)};
    }
  }
  return mesh;
}

FieldValue mesh_field(const Mesh& mesh, const Tonal& tonal, const Point& point) {
  const double near_m = 2 * mesh.spacing_m;
  const auto is_near = [near_m](double value, double low, double high) {
    return value > low - near_m && value < high + near_m;
  };
  if (is_near(point.x_m, mesh.low.x_m, mesh.high.x_m) && is_near(point.y_m, mesh.low.y_m, mesh.high.y_m) &&
      is_near(point.z_m, mesh.low.z_m, mesh.high.z_m)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {{kNan, kNan}, {kNan, kNan}};
  }
  return sum_of(mesh.points, tonal, point);
}

double mesh_error(const Mesh& mesh, const Tonal& tonal, const std::vector<Point>& places) {
  constexpr auto kCount = static_cast<double>(Mesh::kScrambles);
  const std::size_t each = mesh.points.size() / Mesh::kScrambles;
  double scatter = 0.0;
  double power = 0.0;
  for (const Point& place : places) {
    std::array<std::complex<double>, Mesh::kScrambles> found;
    std::complex<double> mean = 0.0;
    for (std::size_t i = 0; i < Mesh::kScrambles; ++i) {
      found[i] = kCount * sum_of(std::span(mesh.points).subspan(i * each, each), tonal, place).pressure_pa;
      mean += found[i] / kCount;
    }
    for (const std::complex<double>& value : found) {
      scatter += std::norm(value - mean) / (kCount * (kCount - 1));
    }
    power += std::norm(mean);
  }
  return std::sqrt(scatter / power);
}

}  // namespace nearfield
