#include "processors/beamform/history/own_noise.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace nearfield::history {
namespace {

using Eigen::Index;

/// Modes of the snapshots with weighted microphones, strongest first.
struct WeightedModes {
  Eigen::VectorXd powers;
  Eigen::MatrixXcd vectors;  ///< (snapshot, mode)
};

WeightedModes weighted_modes(const Eigen::MatrixXcd& pressures, const Eigen::VectorXd& noises) {
  const Eigen::MatrixXcd weighted =
      noises.cwiseSqrt().cwiseInverse().cast<std::complex<double>>().asDiagonal() * pressures;
  const Eigen::MatrixXcd gram = weighted.adjoint() * weighted / static_cast<double>(pressures.cols());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXcd> solver(gram);
  return {.powers = solver.eigenvalues().reverse().cwiseMax(0.0), .vectors = solver.eigenvectors().rowwise().reverse()};
}

/// Combinations that turn the first `count` modes into signals: X v sqrt(1 - noise / lambda) / sqrt(T).
Eigen::MatrixXcd combinations_of(const WeightedModes& modes, Index count, double noise) {
  Eigen::MatrixXcd columns = modes.vectors.leftCols(count);
  for (Index mode = 0; mode < count; ++mode) {
    columns.col(mode) *= std::sqrt((1.0 - noise / modes.powers[mode]) / static_cast<double>(columns.rows()));
  }
  return columns;
}

}  // namespace

Eigen::MatrixXcd signals_of(const Eigen::MatrixXcd& all_pressures) {
  const Eigen::VectorXd all_powers = all_pressures.rowwise().squaredNorm() / static_cast<double>(all_pressures.cols());
  std::vector<Index> heard;
  for (Index m = 0; m < all_powers.size(); ++m) {
    if (all_powers[m] > 0.0) {
      heard.push_back(m);
    }
  }
  const Eigen::MatrixXcd pressures = all_pressures(heard, Eigen::all);
  const Eigen::VectorXd powers = all_powers(heard);
  const NoiseRule rule(pressures.rows(), pressures.cols());
  Eigen::VectorXd noises = powers;
  for (int turn = 0; turn < kNoiseTurns; ++turn) {
    const WeightedModes modes = weighted_modes(pressures, noises);
    const NoiseRule::Split split = rule.split(modes.powers, turn + 1);
    const Eigen::MatrixXcd signals = pressures * combinations_of(modes, split.signals, split.noise);
    noises = (powers - signals.rowwise().squaredNorm()).cwiseMax(kLeastNoiseShare * powers);
  }
  const WeightedModes modes = weighted_modes(pressures, noises);
  const NoiseRule::Split split = rule.split(modes.powers, pressures.cols());
  return combinations_of(modes, split.signals, split.noise);
}

}  // namespace nearfield::history
