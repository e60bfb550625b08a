#include "imaging/sources/disc_field.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nearfield {
namespace {

using Complex = std::complex<double>;

/// Nodes on the rim: least and largest number, and the factors for the distance from the rim and for the wave.
constexpr double kFewest = 16.0;
constexpr double kMost = 256.0;
constexpr double kOfDistance = 15.0;  // the error falls by 1 + distance / radius per node, or faster
constexpr double kOfWave = 2.0;
/// Points nearer than this part of `edge_m` count as in the disc's plane.
constexpr double kInPlane = 1e-3;

}  // namespace

DiscField disc_field(const Eigen::Vector3d& place_m, double radius_m, double k_rad_per_m, double edge_m) {
  const double k = k_rad_per_m;
  const double z_m = std::max(place_m.z(), 0.0);
  const double across_m = std::hypot(place_m.x(), place_m.y());
  const double from_rim_m = std::max(std::hypot(z_m, across_m - radius_m), 1e-3 * radius_m);
  const auto nodes = static_cast<int>(
      std::clamp(kOfDistance / std::log1p(from_rim_m / radius_m) + kOfWave * k * radius_m, kFewest, kMost));
  const Complex straight = std::polar(1.0, -k * z_m);
  const double step = 2.0 * std::numbers::pi / nodes;
  // The x axis points to the place: by symmetry the derivative across it is zero.
  Complex pressure = 0.0;
  Complex by_z = 0.0;
  Complex by_across = 0.0;
  Complex by_radius = 0.0;
  for (int node = 0; node < nodes; ++node) {
    const double cosine = std::cos((node + 0.5) * step);
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
