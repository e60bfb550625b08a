#include "imaging/sources/field_source.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

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

namespace {

/// Nodes on the rim: least and largest number, and the factors for the distance from the rim and for the wave.
constexpr double kFewest = 16.0;
constexpr double kMost = 256.0;
constexpr double kOfDistance = 15.0;  // the error falls by 1 + distance / radius per node, or faster
constexpr double kOfWave = 2.0;
/// Points nearer than this part of `edge_m` count as in the disc's plane.
constexpr double kInPlane = 1e-3;

/// Cosines of the nodes' angles: the same for each place, and as expensive as the waves.
const std::vector<double>& node_cosines(int nodes) {
  static const std::vector<std::vector<double>> kAll = [] {
    std::vector<std::vector<double>> made;
    for (int count = static_cast<int>(kFewest); count <= static_cast<int>(kMost); ++count) {
      const double step = 2.0 * std::numbers::pi / count;
      std::vector<double>& cosines = made.emplace_back();
      for (int node = 0; node < count; ++node) {
        cosines.push_back(std::cos((node + 0.5) * step));
      }
    }
    return made;
  }();
  return kAll[static_cast<std::size_t>(nodes) - static_cast<std::size_t>(kFewest)];
}

}  // namespace

DiscField disc_field(const Eigen::Vector3d& place_m, double radius_m, double k_rad_per_m, double edge_m) {
  const double k = k_rad_per_m;
  const double z_m = std::max(place_m.z(), 0.0);
  const double across_m = std::hypot(place_m.x(), place_m.y());
  const double from_rim_m = std::max(std::hypot(z_m, across_m - radius_m), 1e-3 * radius_m);
  const auto nodes = static_cast<int>(
      std::clamp(kOfDistance / std::log1p(from_rim_m / radius_m) + kOfWave * k * radius_m, kFewest, kMost));
  const Complex straight = std::polar(1.0, -k * z_m);
  // The x axis points to the place: by symmetry the derivative across it is zero.
  Complex pressure = 0.0;
  Complex by_z = 0.0;
  Complex by_across = 0.0;
  Complex by_radius = 0.0;
  for (const double cosine : node_cosines(nodes)) {
    const double side2 = radius_m * radius_m + across_m * across_m - 2.0 * radius_m * across_m * cosine;
    const double r = std::sqrt(z_m * z_m + side2);
    const Complex wave = std::polar(1.0, -k * r);
    const double turn = radius_m * (radius_m - across_m * cosine) / side2;  // change of the direction to the rim
    pressure += turn * (straight - wave);
    by_z -= turn * (straight - z_m / r * wave);
    by_across -= wave / r * cosine;
    by_radius += wave / r;
  }
  const double of_area = 2.0 / (radius_m * radius_m);
  const double mean = of_area / nodes;
  DiscField field{.pressure = mean * pressure / Complex(0.0, k),
                  .gradient = Eigen::Vector3cd::Zero(),
                  .by_radius = mean * radius_m * by_radius};
  field.by_radius -= 2.0 / radius_m * field.pressure;
  if (across_m > 0.0) {
    const Complex along = mean * radius_m * by_across / across_m;
    field.gradient(0) = along * place_m.x();
    field.gradient(1) = along * place_m.y();
  }
  field.gradient(2) = z_m > kInPlane * edge_m
                          ? mean * by_z
                          : Complex(-of_area * std::clamp((radius_m - across_m) / edge_m + 0.5, 0.0, 1.0));
  return field;
}

}  // namespace nearfield
