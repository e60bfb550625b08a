#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <variant>
#include <vector>

#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"

/// Plane waves and point sources that are fitted beside a prior (docs/how/sonah.md).
namespace nearfield {

using FieldSource = std::variant<PlaneWave, PointSource>;
using Sources = std::vector<FieldSource>;

/// Largest number of plane waves and point sources per frequency.
inline constexpr int kMostWaves = 8;
/// Number of sources that so few microphones can separate.
std::size_t most_sources_of(int microphones);

/// Wavenumbers of a plane wave, or coordinates of a point source, by which its field is differentiated: x, y and z; for
/// a disc, which stays in its plane, the radius instead of z.
inline constexpr int kMostCoordinates = 3;
int coordinates_of(const FieldSource& source);
/// Third coordinate of a point source.
double& third_of(PointSource& point);
/// The source with one of its coordinates, or wavenumbers, changed.
FieldSource moved(const FieldSource& source, int coordinate, double by);

/// A point source's field of amplitude 1 at one place: pressure e^{-jkr} / r, or its mean over a disc.
struct PointField {
  std::complex<double> pressure;
  Eigen::Vector3cd gradient;       ///< by the place, per metre
  std::complex<double> by_radius;  ///< for a disc, per metre
};
/// In a disc's own plane its velocity falls at the rim over `edge_m` (disc_field.hpp).
PointField point_field(const PointSource& point, const Eigen::Vector3d& place_m, double k, double edge_m);
/// Derivative of the pressure by one of the source's coordinates.
std::complex<double> slope_of(const PointField& field, const PointSource& point, int coordinate);
/// Converts pressure and gradient to the plan's quantity along a normal: v = -grad p / (j omega rho0), displacement v /
/// (j omega).
std::complex<double> quantity_of(const ImagePlan& plan, double k, const PointField& field,
                                 const Eigen::Vector3d& normal);
/// Edge of discs in images with this plan's pixel distance.
double disc_edge_m(const ImagePlan& plan);

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
