#pragma once
#include <memory>
#include <vector>

#include "imaging/sonah/prior_finder.hpp"
#include "imaging/sonah/prior_models.hpp"
#include "imaging/sources/source_search.hpp"

namespace nearfield {

/// Searches the prior, and plane waves and point sources beside it, in the spectra of every frequency (docs/sonah.md).
class WaveSearch : public SourceSearch {
 public:
  /// Of models the search itself uses the images of the first plane alone. make_arrays: as PriorFinder's.
  WaveSearch(const PnahPlan& plan, const std::shared_ptr<const std::vector<PriorModels>>& candidates,
             const MakeSonahArrays& make_arrays = {});
  /// With the one prior of the plan's own models. [frequency]
  WaveSearch(const PnahPlan& plan, std::vector<SonahModel> models);
};

}  // namespace nearfield
