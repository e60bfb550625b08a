#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/prior_finder.hpp"

namespace nearfield {

/// Searches the prior, and plane waves and point sources beside it, in the spectra of every frequency (docs/sonah.md).
class WaveSearch : public Search {
 public:
  /// Of models only the images of the first plane are used.
  WaveSearch(const PnahPlan& plan, std::shared_ptr<const std::vector<PriorModels>> candidates);
  /// With the one prior of the plan's own models. [frequency]
  WaveSearch(const PnahPlan& plan, std::vector<SonahModel> models);
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override;
  void restart() override;

 private:
  PnahPlan plan_;
  std::shared_ptr<const std::vector<PriorModels>> candidates_;
  std::vector<PriorFinder> finders_;  ///< [frequency]
};

}  // namespace nearfield
