#pragma once
#include <Eigen/Dense>
#include <memory>
#include <optional>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/sonah_model.hpp"
#include "imaging/sonah/wave_finder.hpp"

namespace nearfield {

/// Searches cut-off and slope of pnah's filter, of every frequency (docs/pnah.md, The searched cut-off): those whose
/// image of the lowest plane is nearest to the posterior mean of the field, which minimises the expected squared error.
class CutoffSearch : public Search {
 public:
  /// Builds sonah's model of every frequency, on all processors.
  explicit CutoffSearch(const PnahPlan& plan);
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override;
  void restart() override;

 private:
  [[nodiscard]] std::optional<FilterReport> search_one(std::size_t frequency,
                                                       std::span<const std::complex<double>> field,
                                                       std::uint64_t number);

  PnahPlan plan_;                                   ///< of the lowest plane alone, a pixel a microphone
  bool estimates_error_;                            ///< of the plan's quantity
  std::vector<SonahModel> models_;                  ///< [frequency]
  std::vector<WaveFinder> finders_;                 ///< [frequency]
  std::vector<FilterReport> given_;                 ///< [frequency], the plan's
  SearchMemory<std::vector<FilterReport>> before_;  ///< [frequency], found last; empty: the plan's
  Eigen::MatrixXcd to_rows_;                        ///< (row, padded ky): the aperture's part of the inverse transform
  Eigen::MatrixXcd to_columns_;                     ///< (padded kx, column)
  Eigen::ArrayXXd kr_rad_per_m_;                    ///< (padded ky, padded kx)
};

}  // namespace nearfield
