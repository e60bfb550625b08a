#include "imaging/sonah/wave_search.hpp"

#include <utility>

namespace nearfield {
namespace {

std::vector<std::unique_ptr<FrequencyFinder>> finders_of(const ImagePlan& plan,
                                                         const std::vector<PriorModels>& candidates,
                                                         const MakeSonahArrays& make_arrays) {
  std::vector<std::unique_ptr<FrequencyFinder>> finders;
  ImagePlan without_gains = plan;  // gains are applied by SourceSearch; each finder has copies of its plan
  without_gains.gains.clear();
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    finders.push_back(std::make_unique<PriorFinder>(without_gains, f, candidates, make_arrays));
  }
  return finders;
}

}  // namespace

WaveSearch::WaveSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<PriorModels>>& candidates,
                       const MakeSonahArrays& make_arrays)
    : SourceSearch(plan, finders_of(plan, *candidates, make_arrays), candidates) {}

WaveSearch::WaveSearch(const ImagePlan& plan, std::vector<SonahModel> models)
    : WaveSearch(plan, std::make_shared<const std::vector<PriorModels>>(
                           std::vector<PriorModels>{{.prior = model_prior(plan), .of_frequency = std::move(models)}})) {
}

}  // namespace nearfield
