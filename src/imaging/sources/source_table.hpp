#pragma once
#include <Eigen/Dense>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/source_finder.hpp"

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

/// Layout of the plane waves and point sources of one frequency for kernels/imaging/sources.cl, in floats: their
/// number, the part of their errors in the expected squared error of an image of the first plane for prior power 1,
/// bits of those that is_of_either_side(), 1 where they were fitted to the used
/// microphones of a mask alone, zeros up to kHeader; then for each of them
///   amplitudes   [value][re, im], factors of its amplitude
///   fields       [value][re, im], its field
///   energies     [kMostWaves][re, im], energy of an image of the first plane shared with each of them
///   images       [plane][pixel][re, im], the plan's quantity for amplitude 1
struct SourceTable {
  static constexpr std::size_t kHeader = 8;
  std::size_t values = 0;  ///< values per field: modes of all classes, padded to whole blocks, or microphones
  std::size_t planes = 0;  ///< 1 on a surface
  std::size_t pixels = 0;  ///< per image

  /// Floats per source.
  [[nodiscard]] std::size_t stride() const {
    return 4 * values + 2 * (static_cast<std::size_t>(kMostWaves) + planes * pixels);
  }
  /// Floats per frequency.
  [[nodiscard]] std::size_t size() const { return kHeader + static_cast<std::size_t>(kMostWaves) * stride(); }
};

/// Throws Error if the number of frequencies differs or the findings do not fit into such tables.
void require_fit(const std::vector<FoundWaves>& found, std::size_t frequencies, const SourceTable& table);

/// Makes the table of the sources found last. amplitudes and fields: (value, source).
std::vector<float> make_source_table(const SourceFinder& found, const Eigen::MatrixXcd& amplitudes,
                                     const Eigen::MatrixXcd& fields);
/// Returns the table with other amplitudes and fields. (value, source)
std::vector<float> with_fields(std::vector<float> table, std::size_t stride, const Eigen::MatrixXcd& amplitudes,
                               const Eigen::MatrixXcd& fields);
/// Factors from modes to the amplitudes of the sources found last: A = sum over modes of factors times y. (mode,
/// source)
Eigen::MatrixXcd amplitude_factors(const SourceFit& fit);

}  // namespace nearfield
