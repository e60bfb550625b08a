#include "imaging/shared/microphone_mask.hpp"

#include <algorithm>

namespace nearfield {

void fill_masked(std::span<std::complex<double>> field, const MicrophoneMask& mask, const ArrayPlan& plan,
                 std::size_t frequency) {
  const std::size_t frequencies = plan.frequencies_hz.size();
  const bool uses_prior = plan.fills_from_all && !mask.prior_weights.empty();
  const std::size_t masked = mask.channels.size();
  for (std::size_t i = 0; i < masked; ++i) {
    std::complex<double> sum;
    if (!uses_prior) {
      for (std::size_t n = 0; n < kFillNeighbours; ++n) {
        const double weight = static_cast<double>(mask.weights[(i * frequencies + frequency) * kFillNeighbours + n]);
        const auto from = static_cast<std::size_t>(mask.neighbours[i * kFillNeighbours + n]);
        sum += weight != 0.0 ? weight * field[from] : 0.0;
      }
    } else {
      const std::size_t first = (frequency * masked + i) * field.size();
      for (std::size_t from = 0; from < field.size(); ++from) {
        const double weight = static_cast<double>(mask.prior_weights[first + from]);
        sum += weight != 0.0 ? weight * field[from] : 0.0;
      }
    }
    field[static_cast<std::size_t>(mask.channels[i])] = sum;
  }
}

std::size_t most_maskable(const ArrayGeometry& geometry) { return static_cast<std::size_t>(geometry.channels()) / 2; }

std::size_t mask_capacity(const ArrayPlan& plan) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  return std::min(channels, plan.dead_channels.size() + most_maskable(plan.geometry) + 1);
}

float MissingInformation::largest() const {
  return of_frequency.empty() ? 0.0F : *std::max_element(of_frequency.begin(), of_frequency.end());
}

double MissingInformation::at(std::size_t frequency) const {
  return of_frequency.empty() ? 0.0 : static_cast<double>(of_frequency.at(frequency));
}

}  // namespace nearfield
