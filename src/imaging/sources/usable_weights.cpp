#include "imaging/sources/usable_weights.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "imaging/priors/prior_fill.hpp"
#include "imaging/shared/noise_steps.hpp"

namespace nearfield {

using Eigen::Index;

ResidualFill::ResidualFill(const ArrayGeometry& geometry, const SonahModel& model,
                           const std::vector<std::int32_t>& masked, double noise)
    : geometry_(geometry), model_(&model), masked_(masked), weights_(kParities * Index{model.samples}) {
  const Index samples = model.samples;
  const auto count = static_cast<Index>(masked.size());
  units_.resize(weights_.size(), count);
  for (std::size_t c = 0; c < kParities; ++c) {
    const Index first = static_cast<Index>(c) * samples;
    weights_.segment(first, samples) = 1.0 / (model.powers[c].array() + noise);
    Eigen::MatrixXd folded = Eigen::MatrixXd::Zero(samples, count);
    for (Index i = 0; i < count; ++i) {
      const FoldedPlace place = folded_place(geometry, masked[static_cast<std::size_t>(i)], c);
      folded(place.sample, i) = place.weight;
    }
    units_.middleRows(first, samples) = model.projections[c].transposed_times(folded);
  }
  factor_.compute(units_.transpose() * weights_.matrix().asDiagonal() * units_);
}

Eigen::MatrixXcd ResidualFill::filled(const Eigen::MatrixXcd& fields) const {
  const Eigen::MatrixXcd at_masked = units_.transpose() * (weights_.matrix().asDiagonal() * fields);
  Eigen::MatrixXcd out = fields;
  out.real() -= units_ * factor_.solve(Eigen::MatrixXd(at_masked.real()));
  out.imag() -= units_ * factor_.solve(Eigen::MatrixXd(at_masked.imag()));
  return out;
}

std::vector<float> ResidualFill::microphone_weights() const {
  const Index samples = model_->samples;
  const Index count = units_.cols();
  const auto channels = static_cast<Index>(geometry_.channels());
  const Eigen::MatrixXd white = weights_.matrix().asDiagonal() * units_;
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(channels, count);  // rows of (C + noise)^{-1}, (microphone, masked)
  for (std::size_t c = 0; c < kParities; ++c) {
    const Eigen::MatrixXd at_samples =
        model_->projections[c].times(Eigen::MatrixXd(white.middleRows(static_cast<Index>(c) * samples, samples)));
    for (Index channel = 0; channel < channels; ++channel) {
      const FoldedPlace place = folded_place(geometry_, channel, c);
      rows.row(channel) += place.weight * at_samples.row(place.sample);
    }
  }
  for (const std::int32_t channel : masked_) {
    rows.row(channel).setZero();
  }
  const Eigen::MatrixXd fill = -factor_.solve(rows.transpose());  // (masked, microphone)
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(fill.size()));
  for (Index i = 0; i < count; ++i) {
    for (Index channel = 0; channel < channels; ++channel) {
      out.push_back(static_cast<float>(fill(i, channel)));
    }
  }
  return out;
}

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
