#pragma once
#include <memory>
#include <vector>

#include "imaging/priors/prior_models.hpp"
#include "imaging/sonah/prior_finder.hpp"
#include "imaging/sources/source_search.hpp"

namespace nearfield {

/// Searches the prior, and plane waves and point sources beside it, in the spectra of every frequency
/// (docs/how/sonah.md).
class WaveSearch : public SourceSearch {
 public:
  /// The search itself uses only the models' images of the first plane. make_arrays: see PriorFinder.
  WaveSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<PriorModels>>& candidates,
             const MakeSonahArrays& make_arrays = {});
  /// Uses the plan's own models alone, with their one prior. [frequency]
  WaveSearch(const ImagePlan& plan, std::vector<SonahModel> models);
};

}  // namespace nearfield
