#include "imaging/sonah/source_reference.hpp"

#include <cmath>

#include "imaging/image_surface.hpp"

namespace nearfield::reference {
namespace {

/// The plan's quantity of a monopole e^{-jkr} / r along a normal, at the end of this vector from it.
Complex monopole(const Eigen::Vector3d& from_source_m, const Eigen::Vector3d& normal, double k, const PnahPlan& plan) {
  const double r = from_source_m.norm();
  const Complex pressure = std::exp(Complex(0.0, -k * r)) / r;
  if (plan.holography.quantity == Quantity::kPressure) {
    return pressure;
  }
  // Euler's equation: j omega rho0 v = -dp/dr along the way from the source.
  const double omega = plan.medium.sound_speed_m_s * k;
  const Complex radial = (1.0 / r + Complex(0.0, k)) * pressure / Complex(0.0, omega * plan.medium.density_kg_m3);
  const Complex velocity = radial * normal.dot(from_source_m) / r;
  return plan.holography.quantity == Quantity::kDisplacement ? velocity / Complex(0.0, omega) : velocity;
}

}  // namespace

Eigen::VectorXcd wave_over(const PlaneWave& wave, const PnahPlan& plan, int upsample) {
  const ArrayGeometry& geometry = plan.geometry;
  const int columns = upsample * geometry.columns;
  Eigen::VectorXcd values(Eigen::Index{upsample} * geometry.rows * columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    const Eigen::Index row = i / columns;
    const Eigen::Index column = i % columns;
    const double x_m = (static_cast<double>(column) / upsample - (geometry.columns - 1) / 2.0) * geometry.pitch_x_m;
    const double y_m = (static_cast<double>(row) / upsample - (geometry.rows - 1) / 2.0) * geometry.pitch_y_m;
    values(i) = std::polar(1.0, wave.kx_rad_per_m * x_m + wave.ky_rad_per_m * y_m);
  }
  return values;
}

Eigen::VectorXcd point_over(const PointSource& point, double k, const PnahPlan& plan) {
  PnahPlan pressure = plan;
  pressure.holography.quantity = Quantity::kPressure;
  Eigen::VectorXcd values(plan.geometry.channels());
  for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
    const MicrophonePosition at = plan.geometry.position_m(channel);
    values(channel) =
        monopole({at.x_m - point.x_m, at.y_m - point.y_m, plan.standoff_m - point.z_m}, {0.0, 0.0, 1.0}, k, pressure);
  }
  return values;
}

Eigen::VectorXcd point_image(const PointSource& point, double k, double plane_m, const PnahPlan& plan) {
  const Eigen::Vector3d source_m(point.x_m, point.y_m, point.z_m);
  const int columns = plan.image_columns();
  Eigen::VectorXcd values = Eigen::VectorXcd::Zero(Eigen::Index{plan.image_rows()} * columns);
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    if (plan.surface) {
      const auto pixel = static_cast<std::size_t>(i);
      if (plan.surface->has(pixel)) {
        values(i) = monopole(plan.surface->places_m[pixel] - source_m, plan.surface->normals[pixel], k, plan);
      }
      continue;
    }
    const double upsample = plan.holography.upsample;
    const Eigen::Index row = i / columns;
    const Eigen::Index column = i % columns;
    const Eigen::Vector3d place_m(plan.geometry.x_m(static_cast<double>(column) / upsample),
                                  plan.geometry.y_m(static_cast<double>(row) / upsample), plane_m);
    values(i) = monopole(place_m - source_m, {0.0, 0.0, 1.0}, k, plan);
  }
  return values;
}

}  // namespace nearfield::reference
