#pragma once
#include <Eigen/Core>
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "processors/beamform/settings.hpp"

namespace nearfield::history {

/// Iterations for finding microphones' own noise: each may find one more source.
inline constexpr int kNoiseTurns = 10;
/// Least noise of a microphone, as a fraction of its power.
inline constexpr double kLeastNoiseShare = 1e-3;

/// Tells which eigenvalues of T snapshots of M microphones are signals: those that exceed by a tenth the largest one of
/// noise of equal power, (1 + sqrt(M/T))^2 times its power (Marchenko and Pastur, 1967).
class NoiseRule {
 public:
  struct Split {
    Eigen::Index signals = 0;  ///< number of leading eigenvalues
    double noise = 0.0;        ///< mean of the others, without those that are 0 for lack of snapshots
  };
  NoiseRule(Eigen::Index microphones, Eigen::Index snapshots) : rank_(std::min(microphones, snapshots)) {
    constexpr double kMargin = 1.1;
    const double ratio = static_cast<double>(microphones) / static_cast<double>(snapshots);
    edge_ = kMargin * std::pow(1.0 + std::sqrt(ratio), 2.0) / std::max(1.0, ratio);
  }
  /// powers: in descending order; finds at most `most` signals, and at most half of the eigenvalues.
  [[nodiscard]] Split split(const Eigen::VectorXd& powers, Eigen::Index most) const {
    Split found{.signals = 0, .noise = rank_ > 0 ? powers.head(rank_).mean() : 0.0};
    while (found.signals < std::min(most, rank_ / 2)) {
      const Eigen::Index rest = rank_ - found.signals - 1;
      const double noise = powers.segment(found.signals + 1, rest).mean();
      if (!(powers[found.signals] > edge_ * noise)) {
        break;
      }
      found = {.signals = found.signals + 1, .noise = noise};
    }
    return found;
  }

 private:
  Eigen::Index rank_;
  double edge_ = 0.0;
};

/// Combinations of snapshots that contain the sources but not the microphones' own noise: with S = pressures * result,
/// S S^H is the matrix of cross-spectra minus the noise. pressures (microphone, snapshot); result (snapshot, signal),
/// without columns if there is only noise.
///
/// Factor analysis (Joereskog, Psychometrika 32, 1967, by principal factors): where D holds the noise's powers, D^-1/2
/// X X^H D^-1/2 / T has an eigenvalue above those of noise for each signal, and D is what the signals leave of the
/// diagonal. Both are found alternately, with one more signal each time, so that a loud microphone is not taken for
/// one.
Eigen::MatrixXcd signals_of(const Eigen::MatrixXcd& pressures);

/// Inner products of a map's snapshots, and their normalisation.
struct SnapshotProducts {
  std::size_t held = 0;                          ///< number of snapshots
  std::size_t microphones = 0;                   ///< number that are not masked
  double weight_sum = 0.0;                       ///< sum of their shading
  std::vector<std::complex<double>> of_columns;  ///< [frequency][held][held], p_s^H p_t, Pa^2, oldest first
  /// [frequency][held][channel], p_t; replaces the products where microphones' own noise is removed.
  std::vector<std::complex<float>> columns = {};
  std::size_t channels = 0;
};

/// Modes of a map, in the layout of kernels/processors/beamform/history.cl.
struct Decomposition {
  std::vector<std::complex<float>> vectors;  ///< [frequency][mode][snapshot]
  std::vector<float> coefficients;           ///< [frequency][mode]
  std::vector<float> loadings;               ///< [frequency]
  std::size_t signals = 0;                   ///< clean_sc: most modes of any frequency, whose beams are the signals'
};

/// Maximum number of modes that a method needs.
std::size_t modes_of(const BeamformSettings& settings);

/// Eigenvectors of the products over `held`, largest eigenvalues first, with the coefficients of the method; lines have
/// `snapshots_of_map` values. Modes that are 0 to rounding are ignored. With removal of microphones' own noise
/// (settings.removes_own_noise(), only clean_sc) modes are the signals, times the root of their number.
Decomposition decompose(const BeamformSettings& settings, const SnapshotProducts& products, std::size_t frequencies);

}  // namespace nearfield::history
