#include "imaging/priors/make_mask.hpp"

#include <algorithm>
#include <set>

#include "core/field_prediction.hpp"
#include "imaging/priors/missing_information.hpp"
#include "imaging/priors/prior_fill.hpp"

namespace nearfield {

MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  MicrophoneMask mask;
  std::set<int> all(plan.dead_channels.begin(), plan.dead_channels.end());
  all.insert(channels.begin(), channels.end());
  mask.channels.assign(all.begin(), all.end());
  mask.neighbours.assign(all.size() * kFillNeighbours, 0);
  mask.weights.assign(all.size() * frequencies * kFillNeighbours, 0.0F);
  std::vector<std::uint8_t> usable(static_cast<std::size_t>(plan.geometry.channels()), 1);
  for (const std::int32_t channel : mask.channels) {
    usable[static_cast<std::size_t>(channel)] = 0;
  }
  // The imager of irregular arrays leaves the plan's dead microphones out of its model: nothing reads a prediction of
  // these, whose covariances would be an integral for each pair of microphones.
  const auto is_left_out = [&](std::int32_t channel) {
    return !plan.geometry.is_grid() &&
           std::find(plan.dead_channels.begin(), plan.dead_channels.end(), channel) != plan.dead_channels.end();
  };
  std::vector<FieldCovariance> covariances;
  if (!all.empty()) {
    for (std::size_t f = 0; f < frequencies; ++f) {
      covariances.emplace_back(plan.geometry, plan.wavenumber(f), plan.standoff_m);
    }
  }
  for (std::size_t i = 0; i < mask.channels.size(); ++i) {
    if (is_left_out(mask.channels[i])) {
      continue;
    }
    const std::vector<int> from = nearest_usable(plan.geometry, usable, mask.channels[i], kFillNeighbours);
    if (from.empty()) {
      continue;
    }
    const auto neighbours = mask.neighbours.begin() + static_cast<std::ptrdiff_t>(i * kFillNeighbours);
    std::fill_n(neighbours, kFillNeighbours, from.front());
    std::copy(from.begin(), from.end(), neighbours);
    for (std::size_t f = 0; f < frequencies; ++f) {
      const MicrophonePrediction prediction = predict_microphone(covariances[f], mask.channels[i], from);
      std::transform(prediction.weights.begin(), prediction.weights.end(),
                     mask.weights.begin() + static_cast<std::ptrdiff_t>((i * frequencies + f) * kFillNeighbours),
                     [](double weight) { return static_cast<float>(weight); });
    }
  }
  if (plan.fills_from_all && mask.channels.empty()) {
    forget_prior_fills(plan);
  } else if (plan.fills_from_all) {
    mask.prior_weights = prior_fill(plan, mask.channels);
  }
  mask.missing = missing_information(plan, mask.channels);
  return mask;
}

}  // namespace nearfield
