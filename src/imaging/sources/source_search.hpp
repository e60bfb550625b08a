#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/microphone_mask.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield {

/// An imager's search at one frequency.
class FrequencyFinder {
 public:
  FrequencyFinder() = default;
  FrequencyFinder(const FrequencyFinder&) = delete;
  FrequencyFinder& operator=(const FrequencyFinder&) = delete;
  virtual ~FrequencyFinder() = default;
  /// field [row][column], or [microphone], Pa, in which the microphones of `mask` are filled. Starts with the sources
  /// that it found before, as described at Search.
  virtual FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                          const MicrophoneMask& mask) = 0;
  /// Forgets the sources found before.
  virtual void restart() = 0;
};

/// Searches for sources beside a prior in the spectra of every frequency (docs/how/sonah.md, docs/how/operators.md).
class SourceSearch : public Search {
 public:
  /// finders: [frequency]; models: owner of the data that they refer to.
  SourceSearch(const ImagePlan& plan, std::vector<std::unique_ptr<FrequencyFinder>> finders,
               std::shared_ptr<const void> models);
  using Search::search;
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask,
                                         std::uint64_t number) override;
  void restart() override;

 private:
  ImagePlan plan_;
  std::shared_ptr<const void> models_;
  std::vector<std::unique_ptr<FrequencyFinder>> finders_;
};

/// Spectra as an imager uses them: calibrated, masked microphones predicted. [frequency][row][column], Pa; empty if a
/// microphone that is not masked has a value that is not finite.
std::vector<std::complex<double>> usable_spectra(std::span<const std::complex<float>> spectra, const ImagePlan& plan,
                                                 const MicrophoneMask& mask);

}  // namespace nearfield
