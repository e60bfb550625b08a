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

}  // namespace nearfield
