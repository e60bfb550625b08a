#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "imaging/priors/prior_models.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/source_table.hpp"
#include "imaging/sources/wave_finder.hpp"

namespace nearfield {

/// Margin in nepers by which another prior's criterion must be below that of the prior in force.
inline constexpr double kPriorPreference = 10.0;

/// Makes the device arrays of a candidate's model at a frequency.
using MakeSonahArrays = std::function<std::shared_ptr<const SonahArrays>(std::size_t candidate, std::size_t frequency)>;

/// Chooses the prior of one frequency, and finds the plane waves and point sources beside it (docs/how/sonah.md): every
/// kSearchHalf searches that with the least criterion (WaveFinder::criterion()), each with the sources that are found
/// beside it. Within one memory the prior in force is replaced only by one that is better by kPriorPreference; a memory
/// that begins prefers the first candidate by as much, since its choice may not depend on earlier searches.
class PriorFinder : public FrequencyFinder {
 public:
  /// `candidates` must outlive it; the first one is in force until one is chosen. make_arrays: called when the prior
  /// changes, so that the thread that computes frames need not make them; may be empty.
  PriorFinder(const ImagePlan& plan, std::size_t frequency, const std::vector<PriorModels>& candidates,
              MakeSonahArrays make_arrays = {});
  /// Starts with its previous choice and findings.
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask& mask) override;
  void restart() override {
    before_.clear();
    arrays_.reset();
    arrays_candidate_ = 0;
  }

 private:
  /// State of one memory.
  struct Chosen {
    std::optional<std::size_t> candidate = {};  ///< in force; nullopt: nothing has been chosen yet
    std::vector<Sources> sources = {};          ///< [candidate], last found beside it
    bool operator==(const Chosen&) const = default;
  };
  FoundWaves find_from(Chosen& chosen, bool chooses, std::span<const std::complex<double>> field,
                       const MicrophoneMask& mask);
  /// Criterion of a candidate with what was just found beside it; infinite for bending waves beside point sources,
  /// which would explain what the sources leave in place of the field.
  [[nodiscard]] double criterion_of(std::size_t candidate, const FoundWaves& found) const;
  void add_arrays(FoundWaves& found, std::size_t candidate);
  FoundWaves find_beside(std::size_t candidate, Chosen& chosen, std::span<const std::complex<double>> field,
                         const MicrophoneMask& mask);

  std::vector<FieldPrior> priors_;   ///< [candidate]
  std::vector<WaveFinder> finders_;  ///< [candidate]
  SearchMemory<Chosen> before_;
  std::size_t frequency_;
  MakeSonahArrays make_arrays_;
  std::size_t arrays_candidate_ = 0;           ///< candidate of the previous findings
  std::shared_ptr<const SonahArrays> arrays_;  ///< arrays of that candidate; null until the prior first changes
};

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
