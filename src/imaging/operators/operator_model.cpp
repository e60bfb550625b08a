#include "imaging/operators/operator_model.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using Eigen::Index;

/// Modes of less power relative to a microphone contain only noise: the least noise is 1e-7.
constexpr double kLeastMode = 3e-9;
/// Diagonal elements with a smaller relative difference are equal but for rounding.
constexpr double kEqualPivots = 1e-6;

Index first_of_largest(const Eigen::VectorXd& diagonal) {
  const double least = diagonal.maxCoeff() * (1.0 - kEqualPivots);
  Index pivot = 0;
  while (diagonal(pivot) < least) {
    ++pivot;
  }
  return pivot;
}

/// (microphone, column): its product with its adjoint is the covariance, up to `tolerance` of the trace.
Eigen::MatrixXcd pivoted_cholesky(const Eigen::MatrixXcd& covariance, double tolerance) {
  const Index count = covariance.rows();
  Eigen::VectorXd diagonal = covariance.diagonal().real();
  const double enough = tolerance * diagonal.sum();
  Eigen::MatrixXcd factor(count, count);
  Index rank = 0;
  while (rank < count && diagonal.sum() > enough) {
    const Index pivot = first_of_largest(diagonal);
    if (!(diagonal(pivot) > 0.0)) {
      break;
    }
    auto column = factor.col(rank);
    column = covariance.col(pivot);
    if (rank > 0) {
      column.noalias() -= factor.leftCols(rank) * factor.row(pivot).head(rank).adjoint();
    }
    column /= std::sqrt(diagonal(pivot));
    diagonal = (diagonal - column.cwiseAbs2()).cwiseMax(0.0);
    diagonal(pivot) = 0.0;
    ++rank;
  }
  return factor.leftCols(rank);
}

}  // namespace

OperatorModes operator_modes(const Eigen::MatrixXcd& covariance, double tolerance) {
  const Eigen::MatrixXcd factor = pivoted_cholesky(covariance, tolerance);
  Eigen::MatrixXcd gram = Eigen::MatrixXcd::Zero(factor.cols(), factor.cols());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(factor.adjoint());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(gram);  // reads the lower half
  const Eigen::VectorXd powers = solver.eigenvalues().reverse();
  const Index kept = (powers.array() >= kLeastMode).count();
  OperatorModes found{.modes = factor * solver.eigenvectors().rowwise().reverse().leftCols(kept),
                      .powers = powers.head(kept)};
  for (Index mode = 0; mode < kept; ++mode) {
    found.modes.col(mode) /= std::sqrt(found.powers(mode));
  }
  return found;
}

OperatorModel make_operator_model(const PriorTransfer& transfer, double tolerance) {
  const Eigen::MatrixXcd& to_microphones = transfer.to_microphones;
  const double scale = static_cast<double>(to_microphones.rows()) / to_microphones.squaredNorm();
  Eigen::MatrixXcd covariance = Eigen::MatrixXcd::Zero(to_microphones.rows(), to_microphones.rows());
  covariance.selfadjointView<Eigen::Lower>().rankUpdate(to_microphones, scale);
  covariance.triangularView<Eigen::StrictlyUpper>() = covariance.adjoint();
  OperatorModel model{.at_microphones = operator_modes(covariance, tolerance), .images = {}};
  const Eigen::MatrixXcd from_modes = scale * (to_microphones.adjoint() * model.at_microphones.modes);
  for (const Eigen::MatrixXcd& to_image : transfer.to_images) {
    model.images.emplace_back(to_image * from_modes);
  }
  model.prior_power = scale * transfer.to_images.front().squaredNorm();
  return model;
}

OperatorModel make_operator_model(const Eigen::MatrixXcd& microphones, const std::vector<Eigen::MatrixXcd>& images,
                                  double prior_power, double tolerance) {
  const double scale = static_cast<double>(microphones.rows()) / microphones.trace().real();
  OperatorModel model{.at_microphones = operator_modes(scale * microphones, tolerance), .images = {}};
  for (const Eigen::MatrixXcd& image : images) {
    model.images.emplace_back(scale * image * model.at_microphones.modes);
  }
  model.prior_power = scale * prior_power;
  return model;
}

}  // namespace nearfield
