#include "processors/beamform/published_reference.hpp"

namespace nearfield::reference {

void append_published(const BeamformPlan& plan, const std::vector<float>& maps, std::vector<float>& to) {
  const PublishedMaps published(plan);
  for (std::size_t map = 0; map < published.size(); ++map) {
    for (std::size_t pixel = 0; pixel < plan.pixels(); ++pixel) {
      double sum = 0.0;
      for (const std::size_t f : published.bins[map]) {
        sum += static_cast<double>(maps[f * plan.pixels() + pixel]);
      }
      to.push_back(static_cast<float>(published.weights[map] * sum));
    }
  }
}

std::vector<std::span<const std::byte>> products_of_window(const BeamformPlan& plan,
                                                           const std::vector<float>& effective,
                                                           const std::vector<float>& published, std::size_t window) {
  const std::size_t values = PublishedMaps(plan).size() * plan.pixels();
  return products_of(plan, std::span(effective).subspan(window * plan.frequencies(), plan.frequencies()),
                     std::span(published).subspan(window * values, values));
}

}  // namespace nearfield::reference
