#include "imaging/sources/usable_weights.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "imaging/shared/noise_steps.hpp"

namespace nearfield {

using Eigen::Index;

UsableWeights::UsableWeights(Eigen::ArrayXd powers, Index missing)
    : powers_(std::move(powers)), missing_(missing), masked_(powers_.size(), 0) {
  find_determinants();
}

void UsableWeights::leave_out(Eigen::MatrixXd masked) {
  masked_ = std::move(masked);
  factors_.clear();
  for (int step = 0; step < kNoiseSteps && masked_.cols() > 0; ++step) {
    const Eigen::MatrixXd weighed = (powers_ + noise_step(step)).rsqrt().matrix().asDiagonal() * masked_;
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(masked_.cols(), masked_.cols());
    gram.selfadjointView<Eigen::Lower>().rankUpdate(weighed.transpose());
    factors_.emplace_back(gram);  // reads the lower half
  }
  find_determinants();
}

/// ln det C_uu = ln det C + ln det (C^{-1})_mm, u the usable and m the masked ones.
void UsableWeights::find_determinants() {
  log_determinants_.clear();
  for (int step = 0; step < kNoiseSteps; ++step) {
    const double noise = noise_step(step);
    double logarithm = (powers_ + noise).log().sum() - static_cast<double>(missing_) * std::log(noise);
    if (!factors_.empty()) {
      logarithm += 2.0 * factors_[static_cast<std::size_t>(step)].matrixLLT().diagonal().array().log().sum();
    }
    log_determinants_.push_back(logarithm);
  }
}

Eigen::MatrixXcd UsableWeights::weigh(int step, const Eigen::MatrixXcd& fields) const {
  const Eigen::ArrayXd weights = 1.0 / (powers_ + noise_step(step));
  Eigen::MatrixXcd white = weights.matrix().asDiagonal() * fields;
  if (factors_.empty()) {
    return white;
  }
  const auto& factor = factors_[static_cast<std::size_t>(step)];
  const auto left_out = [&](const Eigen::MatrixXd& part) -> Eigen::MatrixXd {
    const Eigen::MatrixXd at_masked = masked_.transpose() * part;
    return weights.matrix().asDiagonal() * (masked_ * factor.solve(at_masked));
  };
  const Eigen::MatrixXd real = left_out(white.real());
  const Eigen::MatrixXd imaginary = left_out(white.imag());
  white.real() -= real;
  white.imag() -= imaginary;
  return white;
}

Eigen::ArrayXd UsableWeights::energies(const Eigen::VectorXcd& field) const {
  Eigen::MatrixXd weights(powers_.size(), kNoiseSteps);
  for (int step = 0; step < kNoiseSteps; ++step) {
    weights.col(step) = (1.0 / (powers_ + noise_step(step))).matrix();
  }
  Eigen::ArrayXd found = (weights.transpose() * field.cwiseAbs2()).array();
  if (factors_.empty()) {
    return found;
  }
  const Eigen::MatrixXd real = masked_.transpose() * (field.real().asDiagonal() * weights);
  const Eigen::MatrixXd imaginary = masked_.transpose() * (field.imag().asDiagonal() * weights);
  for (int step = 0; step < kNoiseSteps; ++step) {
    const auto& factor = factors_[static_cast<std::size_t>(step)];
    const Eigen::VectorXd of_real = factor.solve(real.col(step));
    const Eigen::VectorXd of_imaginary = factor.solve(imaginary.col(step));
    found(step) -= real.col(step).dot(of_real) + imaginary.col(step).dot(of_imaginary);
  }
  return found.max(0.0);
}

}  // namespace nearfield
