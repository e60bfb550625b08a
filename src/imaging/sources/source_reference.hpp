#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <functional>
#include <variant>
#include <vector>

#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/search.hpp"

/// Fields of plane waves and point sources beside a prior, in double precision from their formulas.
namespace nearfield::reference {

/// e^{j (kx x + ky y)} over the microphones, or over an image's pixels.
Eigen::VectorXcd wave_over(const PlaneWave& wave, const ImagePlan& plan, int upsample);

/// A monopole's pressure e^{-jkr} / r at the microphones.
Eigen::VectorXcd point_over(const PointSource& point, double k, const ImagePlan& plan);

/// The plan's quantity of a monopole at a place, along a normal.
Complex point_at(const Eigen::Vector3d& place_m, const Eigen::Vector3d& normal, const PointSource& point, double k,
                 const ImagePlan& plan);

/// The plan's quantity of a monopole at each pixel of a plane, or of the plan's surface, 0 for pixels off it.
Eigen::VectorXcd point_image(const PointSource& point, double k, double plane_m, const ImagePlan& plan);

/// Functions of an imager for a fit of sources beside a prior, for amplitude 1.
struct SourceProblem {
  using Source = std::variant<PlaneWave, PointSource>;
  std::function<Eigen::VectorXcd(const Source&)> at_microphones;         ///< masked ones filled
  std::function<Eigen::VectorXcd(const Source&, std::size_t)> on_plane;  ///< the plan's quantity. [pixel]
  std::size_t planes = 1;
  /// Inverse of the microphones' covariance with noise, 0 for those that the fit leaves out.
  Eigen::MatrixXcd inverse;
  /// The first plane's image by the prior of a field at the microphones, after that inverse. [pixel]
  std::function<Eigen::VectorXcd(const Eigen::VectorXcd&)> image_by_prior;
  double k = 0.0;  ///< below which waves propagate, rad/m
};

/// The part of a frame explained by plane waves and point sources.
struct SourceShare {
  Eigen::VectorXcd residual;             ///< [microphone]
  std::vector<Eigen::VectorXcd> images;  ///< [plane]
  double error = 0.0;                    ///< expected squared error of the first image, for prior power 1
  /// Expected squared error of the first image as propagating waves may come from behind: half of their energy there.
  double error_of_sides = 0.0;
};
/// Generalised least squares of the found sources' amplitudes.
SourceShare fit_sources(const FoundWaves& found, const Eigen::VectorXcd& field, const SourceProblem& problem);

}  // namespace nearfield::reference
