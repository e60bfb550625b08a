#pragma once
#include <Eigen/Dense>
#include <vector>

#include "imaging/operators/prior.hpp"
#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Modes of the microphones' pressures: the covariance is modes diag(powers) modes^H, except for a share of its trace.
struct OperatorModes {
  Eigen::MatrixXcd modes;  ///< (microphone, mode), orthonormal columns
  Eigen::VectorXd powers;  ///< [mode], descending
};

/// Modes of a covariance, by the pivoted Cholesky factor that leaves at most `tolerance` of the trace and the
/// eigenvalues of its small Gram matrix (Harbrecht, Peters and Schneider 2012). Of pivots that are equal but for
/// rounding, as on a regular grid, the first is taken, so that the modes do not depend on rounding.
OperatorModes operator_modes(const Eigen::MatrixXcd& covariance, double tolerance);

/// An operator imager's model at one frequency, in double precision; the prior's mean power at a microphone is 1.
struct OperatorModel {
  OperatorModes at_microphones;  ///< modes of the used microphones
  /// Maps modes, divided by power + noise, to the image. [plane](pixel, mode)
  std::vector<Eigen::MatrixXcd> images;
  double prior_power = 0.0;  ///< the prior's variance, summed over the first plane's image
};

/// The model of sources of equal power, independent of each other, where C = G G^H and B = H G^H
/// (docs/how/operators.md).
OperatorModel make_operator_model(const PriorTransfer& transfer, double tolerance);
/// The model of given covariances: of the microphones, and of images with them, in the scale of the first. prior_power:
/// of the first image.
OperatorModel make_operator_model(const Eigen::MatrixXcd& microphones, const std::vector<Eigen::MatrixXcd>& images,
                                  double prior_power, double tolerance);

}  // namespace nearfield
