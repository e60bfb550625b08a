#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstdint>
#include <span>
#include <utility>

#include "imaging/search.hpp"
#include "imaging/sonah/sonah_model.hpp"
#include "imaging/sources/source_finder.hpp"

namespace nearfield {

/// The posterior mean of the field, over an image's plane.
struct FieldEstimate {
  Eigen::MatrixXcd image;  ///< (row, column), in the plan's quantity
  double noise_pa = 0.0;   ///< rms of a microphone
  /// Expected, summed over the pixels, as it is published: the prior's part times PnahPlan::error_calibration()
  /// squared, and that of the sources' amplitudes as it is, which fields from elsewhere say nothing of.
  double squared_error = 0.0;
};

/// Finds the plane waves and point sources of one frequency that sonah's prior does not explain (docs/sonah.md), and
/// makes the table of these that its kernels read.
class WaveFinder {
 public:
  /// `model` must outlive it; its first image plane is used.
  WaveFinder(const PnahPlan& plan, std::size_t frequency, const SonahModel& model);
  /// As SourceFinder::find().
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask* mask = nullptr);
  /// As SourceFinder::find_from().
  FoundWaves find_from(Sources sources, std::span<const std::complex<double>> field,
                       const MicrophoneMask* mask = nullptr);
  /// What the last find() found.
  [[nodiscard]] const Sources& sources() const { return finder_.sources(); }
  [[nodiscard]] double criterion() const { return finder_.criterion(); }
  /// Nothing was found before.
  void restart() { finder_.restart(); }
  /// The posterior mean of the field on the first plane after the last find(), sources included; of plans whose pixels
  /// are the microphones.
  [[nodiscard]] FieldEstimate estimate() const;

 private:
  [[nodiscard]] FoundWaves with_table(const MicrophoneMask* mask);
  [[nodiscard]] bool makes_noise_loud(const MicrophoneMask& mask) const;
  [[nodiscard]] ResidualFilling filling_of(const MicrophoneMask& mask, const std::vector<float>& table) const;

  PnahPlan plan_;
  std::size_t frequency_;
  const SonahModel* model_;
  SourceFinder finder_;
  double sources_error_ = 0.0;  ///< what its sources add to the expected squared error, for prior power 1
};

}  // namespace nearfield
