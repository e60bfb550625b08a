#pragma once
#include <Eigen/Dense>
#include <memory>
#include <optional>
#include <vector>

#include "imaging/priors/sonah_model.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/wave_finder.hpp"

namespace nearfield {

/// Searches cut-off and slope of pnah's filter at every frequency (docs/how/pnah.md, The searched cut-off): those with
/// the image of the lowest plane nearest to the posterior mean of the field, which minimises the expected squared
/// error.
class CutoffSearch : public Search {
 public:
  /// Builds sonah's model of every frequency, on all processors.
  explicit CutoffSearch(const ImagePlan& plan);
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override;
  void restart() override;

 private:
  /// Image of the field by the found filter, and its estimate: for the error of an intensity, the product of two
  /// quantities.
  struct Imaged {
    Eigen::MatrixXcd image;  ///< (row, column)
    FieldEstimate estimate;
  };
  [[nodiscard]] static double intensity_error(const Imaged& pressure, const Imaged& velocity);
  [[nodiscard]] Eigen::MatrixXcd propagated(const Eigen::MatrixXcd& spectrum, const ImagePlan& plan,
                                            std::size_t frequency) const;
  [[nodiscard]] Eigen::MatrixXcd filtered(const Eigen::MatrixXcd& propagated, double cutoff, double slope) const;
  [[nodiscard]] std::optional<FilterReport> search_one(std::size_t frequency,
                                                       std::span<const std::complex<double>> field,
                                                       std::uint64_t number, const MicrophoneMask& mask);

  ImagePlan plan_;                                  ///< with the lowest plane only, one pixel per microphone
  std::vector<SonahModel> models_;                  ///< [frequency]
  std::vector<WaveFinder> finders_;                 ///< [frequency]
  ImagePlan velocity_plan_;                         ///< for an intensity: plan_ with normal velocity
  std::vector<SonahModel> velocity_models_;         ///< [frequency]; empty unless the quantity is an intensity
  std::vector<WaveFinder> velocity_finders_;        ///< likewise
  std::vector<FilterReport> given_;                 ///< [frequency], from the plan
  SearchMemory<std::vector<FilterReport>> before_;  ///< [frequency], last result; empty: the plan's
  Eigen::MatrixXcd to_rows_;                        ///< (row, padded ky): the aperture's part of the inverse transform
  Eigen::MatrixXcd to_columns_;                     ///< (padded kx, column)
  Eigen::ArrayXXd kr_rad_per_m_;                    ///< (padded ky, padded kx)
};

/// The search for pnah's cut-offs and slopes; null if the plan sets none.
std::unique_ptr<Search> make_cutoff_search(const ImagePlan& plan);

}  // namespace nearfield
