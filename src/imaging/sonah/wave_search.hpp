#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/wave_finder.hpp"

namespace nearfield {

/// Searches plane waves in the spectra of every frequency (docs/sonah.md).
class WaveSearch : public Search {
 public:
  /// models [frequency]; of their images only the first plane's are used.
  WaveSearch(const PnahPlan& plan, std::shared_ptr<const std::vector<SonahModel>> models);
  WaveSearch(const PnahPlan& plan, std::vector<SonahModel> models)
      : WaveSearch(plan, std::make_shared<const std::vector<SonahModel>>(std::move(models))) {}
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override;
  void restart() override;

 private:
  PnahPlan plan_;
  std::shared_ptr<const std::vector<SonahModel>> models_;  ///< [frequency]
  std::vector<WaveFinder> finders_;                        ///< [frequency]
};

}  // namespace nearfield
