#pragma once
#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "imaging/priors/sonah_model.hpp"

namespace nearfield {

/// Prediction of masked microphones from all others by a model's prior with a noise of its own (docs/how/sonah.md), in
/// modes: with W = diag(1 / (power + noise)) and E the masked microphones in modes, a field y with any values at the
/// masked ones becomes
///   y - E (E^T W E)^{-1} E^T W y,
/// whose share in (C + noise)^{-1} is 0 there.
class ResidualFill {
 public:
  /// Requires a grid of microphones. `masked`: row * columns + column.
  ResidualFill(const ArrayGeometry& geometry, const SonahModel& model, const std::vector<std::int32_t>& masked,
               double noise);
  /// (class and mode, column)
  [[nodiscard]] Eigen::MatrixXcd filled(const Eigen::MatrixXcd& fields) const;
  /// 1 / (power + noise). [class and mode]
  [[nodiscard]] const Eigen::ArrayXd& mode_weights() const { return weights_; }
  /// Layout of MicrophoneMask::prior_weights of a frequency: [masked][row][column], 0 for masked ones.
  [[nodiscard]] std::vector<float> microphone_weights() const;

 private:
  ArrayGeometry geometry_;
  const SonahModel* model_;
  std::vector<std::int32_t> masked_;
  Eigen::ArrayXd weights_;
  Eigen::MatrixXd units_;               ///< fields of 1 at a masked microphone, (class and mode, masked)
  Eigen::LLT<Eigen::MatrixXd> factor_;  ///< factor of E^T W E
};

/// Most masked microphones that fits leave out of so many: 1.6 MB per frequency and prior, for the factors of all steps
/// of noise, and 6.3 MB for few microphones, where as many are most of them.
constexpr int most_left_out(int channels) { return channels <= 256 ? 128 : 64; }

/// Inverse of the covariance of the unmasked microphones, with each step of noise, in a prior's modes: with W = diag(1
/// / (power + noise)) and E the masked microphones in modes it is
///   W - W E (E^T W E)^{-1} E^T W,
/// which is 0 for any values at the masked ones.
class UsableWeights {
 public:
  /// Starts with all microphones. missing: modes of odd classes without microphones. [mode]
  UsableWeights(Eigen::ArrayXd powers, Eigen::Index missing);
  /// masked: unit fields of masked microphones in modes, at most most_left_out(); (mode, masked).
  void leave_out(Eigen::MatrixXd masked);
  /// Multiplies fields (mode, column) by that inverse.
  [[nodiscard]] Eigen::MatrixXcd weigh(int step, const Eigen::MatrixXcd& fields) const;
  /// Energy of a field in that inverse at each step of noise.
  [[nodiscard]] Eigen::ArrayXd energies(const Eigen::VectorXcd& field) const;
  /// ln of the covariance's determinant.
  [[nodiscard]] double log_determinant(int step) const { return log_determinants_[static_cast<std::size_t>(step)]; }
  /// Microphones that are used.
  [[nodiscard]] Eigen::Index channels() const { return powers_.size() - missing_ - masked_.cols(); }

 private:
  void find_determinants();

  Eigen::ArrayXd powers_;
  Eigen::Index missing_;
  Eigen::MatrixXd masked_;
  std::vector<Eigen::LLT<Eigen::MatrixXd>> factors_;  ///< factors of E^T W E, [step]; empty: no microphone is left out
  std::vector<double> log_determinants_;              ///< [step]
};

}  // namespace nearfield
