#include "imaging/sources/residual_fill.hpp"

#include "imaging/priors/prior_fill.hpp"

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

}  // namespace nearfield
