#include "processors/beamform/history/decomposition.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

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

namespace {

/// Fraction of the largest eigenvalue: rounding of beams and products in float32.
constexpr double kNoMode = 1e-6;

/// Mean of the eigenvalues beyond the sources, over those that noise contributes to: with fewer snapshots than
/// microphones noise is in all of them.
double noise_of(const std::vector<double>& eigenvalues, std::size_t sources, std::size_t rank) {
  if (rank <= sources) {
    return 0.0;
  }
  const auto first = eigenvalues.begin();
  return std::accumulate(first + static_cast<std::ptrdiff_t>(sources), first + static_cast<std::ptrdiff_t>(rank), 0.0) /
         static_cast<double>(rank - sources);
}

/// Factor of |sum_t B_t v_ti|^2, or for orthogonal the mode's power.
double coefficient_of(const BeamformSettings& settings, double eigenvalue, double noise, double loading, double held) {
  switch (settings.method) {
    case Method::kFunctional:
      return std::pow(std::max(eigenvalue - noise, 0.0), 1.0 / settings.functional_exponent) / (held * eigenvalue);
    case Method::kCapon:
      return 1.0 / (held * (eigenvalue + loading));
    case Method::kMusic:
      return 1.0 / (held * eigenvalue);
    case Method::kOrthogonal:
      return std::max(eigenvalue - noise, 0.0);
    case Method::kDas:
    case Method::kCleanSc:
      break;
  }
  return 0.0;
}

Decomposition decompose_signals(const BeamformSettings& settings, const SnapshotProducts& snapshots,
                                std::size_t frequencies) {
  const std::size_t modes = modes_of(settings);
  const auto line = static_cast<std::size_t>(settings.average.snapshots);
  const auto held = static_cast<Eigen::Index>(snapshots.held);
  const auto channels = static_cast<Eigen::Index>(snapshots.channels);
  Decomposition result{.vectors = std::vector<std::complex<float>>(frequencies * modes * line),
                       .coefficients = std::vector<float>(frequencies * modes),
                       .loadings = std::vector<float>(frequencies),
                       .signals = 1};
  std::vector<Eigen::MatrixXcd> signals;
  for (std::size_t f = 0; f < frequencies; ++f) {
    const Eigen::MatrixXcd pressures =
        Eigen::Map<const Eigen::MatrixXcf>(snapshots.columns.data() + f * snapshots.held * snapshots.channels, channels,
                                           held)
            .cast<std::complex<double>>();
    signals.push_back(signals_of(pressures));
    result.signals = std::max(result.signals, static_cast<std::size_t>(signals.back().cols()));
  }
  const double scale = std::sqrt(static_cast<double>(result.signals));  // kernels divide by this number
  for (std::size_t f = 0; f < frequencies; ++f) {
    for (Eigen::Index mode = 0; mode < signals[f].cols(); ++mode) {
      for (Eigen::Index t = 0; t < held; ++t) {
        result.vectors[(f * modes + static_cast<std::size_t>(mode)) * line + static_cast<std::size_t>(t)] =
            std::complex<float>(scale * signals[f](t, mode));
      }
    }
  }
  return result;
}

}  // namespace

std::size_t modes_of(const BeamformSettings& settings) {
  const bool of_sources = settings.method == Method::kMusic || settings.method == Method::kOrthogonal;
  return static_cast<std::size_t>(of_sources ? settings.sources : settings.average.snapshots);
}

Decomposition decompose(const BeamformSettings& settings, const SnapshotProducts& products, std::size_t frequencies) {
  if (settings.removes_own_noise()) {
    return decompose_signals(settings, products, frequencies);
  }
  using Matrix = Eigen::Matrix<std::complex<double>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::size_t modes = modes_of(settings);
  const auto line = static_cast<std::size_t>(settings.average.snapshots);
  const std::size_t held = products.held;
  const auto count = static_cast<Eigen::Index>(held);
  Decomposition result{.vectors = std::vector<std::complex<float>>(frequencies * modes * line),
                       .coefficients = std::vector<float>(frequencies * modes),
                       .loadings = std::vector<float>(frequencies)};
  for (std::size_t f = 0; f < frequencies; ++f) {
    const Matrix gram = Eigen::Map<const Matrix>(products.of_columns.data() + f * held * held, count, count) /
                        (static_cast<double>(held) * products.weight_sum);
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(gram);
    std::vector<double> eigenvalues(solver.eigenvalues().data(), solver.eigenvalues().data() + count);
    std::reverse(eigenvalues.begin(), eigenvalues.end());
    const double noise =
        noise_of(eigenvalues, static_cast<std::size_t>(settings.sources), std::min(held, products.microphones));
    const double loading = settings.loading * gram.trace().real() / products.weight_sum;
    result.loadings[f] = static_cast<float>(loading);
    for (std::size_t mode = 0; mode < std::min(modes, held); ++mode) {
      if (!(eigenvalues[mode] > kNoMode * eigenvalues.front())) {
        break;
      }
      result.coefficients[f * modes + mode] =
          static_cast<float>(coefficient_of(settings, eigenvalues[mode], noise, loading, static_cast<double>(held)));
      const auto column = static_cast<Eigen::Index>(held - 1 - mode);
      for (std::size_t t = 0; t < held; ++t) {
        result.vectors[(f * modes + mode) * line + t] =
            std::complex<float>(solver.eigenvectors()(static_cast<Eigen::Index>(t), column));
      }
    }
  }
  return result;
}

}  // namespace nearfield::history
