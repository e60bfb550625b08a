#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "imaging/shared/array_plan.hpp"
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

/// A source that a matched filter proposes, and the filter's output: |g^H (C + n)^{-1} r|^2 / (g^H (C + n)^{-1} g t).
struct Candidate {
  FieldSource source;
  double strength = 0.0;
};

/// Interface of SourceFinder to an imager at one frequency: the modes of its prior, in which the covariance of the
/// microphones is diagonal, sources in these modes and on images, and bounds of sources.
class SourceSpace {
 public:
  SourceSpace() = default;
  SourceSpace(const SourceSpace&) = delete;
  SourceSpace& operator=(const SourceSpace&) = delete;
  virtual ~SourceSpace() = default;
  /// The prior's power of each mode; the mean over microphones is 1. [mode]
  [[nodiscard]] virtual const Eigen::ArrayXd& powers() const = 0;
  /// Number of modes without a microphone.
  [[nodiscard]] virtual Eigen::Index missing() const { return 0; }
  /// Largest number of sources to search for; 0: the microphones are too few.
  [[nodiscard]] virtual std::size_t most_sources() const = 0;
  /// Fills masked microphones of fields as in the measurement, so that the residual of a source's own field is 0; null:
  /// none. `mask` must outlive the calls that follow.
  virtual void use(const MicrophoneMask* mask) = 0;
  /// Masked microphones that fits leave out, ascending, and their unit fields in modes, (mode, microphone); for spaces
  /// with real modes.
  [[nodiscard]] virtual std::vector<std::int32_t> left_out() const { return {}; }
  [[nodiscard]] virtual Eigen::MatrixXd unit_fields(const std::vector<std::int32_t>& channels) const;
  /// A measured field [row][column], or [microphone], in modes. [mode]
  [[nodiscard]] virtual Eigen::VectorXcd of_field(std::span<const std::complex<double>> field) const = 0;
  /// Fields of sources for amplitude 1: of a plane wave at the array's centre, of a point source e^{-jkr} / r. (mode,
  /// source)
  [[nodiscard]] virtual Eigen::MatrixXcd fields(const Sources& sources) const = 0;
  /// Derivatives by each of the sources' coordinates; 0 for sources that do not have it. [coordinate](mode, source)
  [[nodiscard]] virtual std::vector<Eigen::MatrixXcd> slopes(const Sources& sources) const = 0;
  /// The strongest outputs of the matched filter: one for each kind of source, or for parts of its grid. white: the
  /// residual, weighted with noise number `step`; `prior` is the residual's power t.
  [[nodiscard]] virtual std::vector<Candidate> strongest(const Eigen::VectorXcd& white, int step, double prior) = 0;
  /// True for a point source behind the array.
  [[nodiscard]] virtual bool is_behind(const FieldSource& /*source*/) const { return false; }
  /// True for a source whose field at the microphones one behind the array makes just as well.
  [[nodiscard]] virtual bool is_of_either_side(const FieldSource& /*source*/) const { return false; }
  /// Moves a source by `by` along its coordinates, within its bounds; returns the largest change in steps of the grids.
  [[nodiscard]] virtual double move(FieldSource& source, const Eigen::Ref<const Eigen::VectorXd>& by) const = 0;
  /// The disc, in the lowest imaged plane, whose field at the microphones decays about like the point's; nullopt if no
  /// disc is allowed.
  [[nodiscard]] virtual std::optional<PointSource> disc_of(const PointSource& point) const = 0;
  /// The point whose field decays about like the disc's.
  [[nodiscard]] virtual PointSource point_of(const PointSource& disc) const = 0;
  /// Planes that are imaged; 1 on a surface.
  [[nodiscard]] virtual std::size_t planes() const = 0;
  /// Image of weighted modes by the prior, on the first plane. (mode, column) to (pixel, column)
  [[nodiscard]] virtual Eigen::MatrixXcd image_of_modes(const Eigen::MatrixXcd& white) const = 0;
  /// The plan's quantity of a source for amplitude 1, 0 at pixels that are not imaged. [pixel]
  [[nodiscard]] virtual Eigen::VectorXcd image_of(const FieldSource& source, std::size_t plane) const = 0;
};

}  // namespace nearfield
