#include "imaging/sources/field_source.hpp"

#include <algorithm>
#include <cmath>

#include "imaging/sources/disc_field.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// Width over which the velocity falls at the rim in a disc's own plane, over the distance of pixels.
constexpr double kDiscEdgeOfPixel = 0.25;

PointField monopole_field(const Eigen::Vector3d& from_source_m, double k) {
  const double r = from_source_m.norm();
  const Complex pressure = std::polar(1.0 / r, -k * r);
  return {.pressure = pressure,
          .gradient = pressure * Complex(-1.0 / r, -k) / r * from_source_m.cast<Complex>(),
          .by_radius = {}};
}

}  // namespace

std::size_t most_sources_of(int microphones) {
  constexpr int kMicrophonesASource = 16;
  return static_cast<std::size_t>(std::min(kMostWaves, microphones / kMicrophonesASource));
}

int coordinates_of(const FieldSource& source) { return std::holds_alternative<PlaneWave>(source) ? 2 : 3; }

double& third_of(PointSource& point) { return point.is_disc() ? point.radius_m : point.z_m; }

FieldSource moved(const FieldSource& source, int coordinate, double by) {
  FieldSource out = source;
  if (auto* wave = std::get_if<PlaneWave>(&out)) {
    (coordinate == 0 ? wave->kx_rad_per_m : wave->ky_rad_per_m) += by;
  } else {
    PointSource& point = std::get<PointSource>(out);
    (coordinate == 0 ? point.x_m : coordinate == 1 ? point.y_m : third_of(point)) += by;
  }
  return out;
}

PointField point_field(const PointSource& point, const Eigen::Vector3d& place_m, double k, double edge_m) {
  const Eigen::Vector3d from_source_m = place_m - Eigen::Vector3d(point.x_m, point.y_m, point.z_m);
  if (!point.is_disc()) {
    return monopole_field(from_source_m, k);
  }
  const DiscField disc = disc_field(from_source_m, point.radius_m, k, edge_m);
  return {.pressure = disc.pressure, .gradient = disc.gradient, .by_radius = disc.by_radius};
}

Complex slope_of(const PointField& field, const PointSource& point, int coordinate) {
  // The field depends on the vector from the source to the place: its derivatives by the source's coordinates are the
  // negative of those by the place's.
  return point.is_disc() && coordinate == 2 ? field.by_radius : -field.gradient(coordinate);
}

Complex quantity_of(const ImagePlan& plan, double k, const PointField& field, const Eigen::Vector3d& normal) {
  if (plan.holography.quantity == Quantity::kPressure) {
    return field.pressure;
  }
  const double omega = k * plan.medium.sound_speed_m_s;
  const Complex along = (normal.cast<Complex>().transpose() * field.gradient).value();
  const Complex velocity = -along / Complex(0.0, omega * plan.medium.density_kg_m3);
  return plan.holography.quantity == Quantity::kDisplacement ? velocity / Complex(0.0, omega) : velocity;
}

double disc_edge_m(const ImagePlan& plan) {
  const ImageGrid grid = plan.grid();
  return kDiscEdgeOfPixel * std::sqrt(grid.pitch_x_m * grid.pitch_y_m) / grid.upsample;
}

}  // namespace nearfield
