#pragma once
#include <Eigen/Dense>
#include <complex>

namespace nearfield {

/// Mean of e^{-jkr} / r over a disc in the plane z = 0 around the origin, and its derivatives, at one place.
struct DiscField {
  std::complex<double> pressure;
  /// Derivatives by the place's coordinates, per metre.
  Eigen::Vector3cd gradient;
  /// Derivative by the radius, per metre.
  std::complex<double> by_radius;
};

/// Field by Schoch's line integral over the rim (A. Schoch, Akust. Z. 6, 1941), with as many nodes as the distance from
/// the rim requires: error 1e-6 at more than a fifth of the radius from it, and 1 % next to it. `place_m` has z >= 0,
/// m. In the plane of the disc itself the derivative by z jumps at the rim: it falls there over `edge_m`, and the other
/// derivatives are those next to the rim.
DiscField disc_field(const Eigen::Vector3d& place_m, double radius_m, double k_rad_per_m, double edge_m);

}  // namespace nearfield
