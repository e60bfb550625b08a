#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "imaging/search.hpp"
#include "imaging/sonah/prior_models.hpp"
#include "imaging/sonah/wave_finder.hpp"
#include "imaging/sources/source_search.hpp"

namespace nearfield {

/// By how much another prior's criterion must be below that of the prior in force, nepers.
inline constexpr double kPriorPreference = 10.0;

/// Chooses the prior of one frequency, and finds the plane waves and point sources beside it (docs/sonah.md): every
/// kSearchHalf searches that with the least criterion (WaveFinder::criterion()), each with the sources that are found
/// beside it. Within one memory the prior in force is given up for one that is better by kPriorPreference alone; a
/// memory that begins prefers the first candidate by as much, since its choice may not depend on searches before it.
class PriorFinder : public FrequencyFinder {
 public:
  /// `candidates` must outlive it; the first one is in force until one is chosen.
  PriorFinder(const PnahPlan& plan, std::size_t frequency, const std::vector<PriorModels>& candidates);
  /// Starts with what it chose and found before.
  FoundWaves find(std::span<const std::complex<double>> field, std::uint64_t number,
                  const MicrophoneMask& mask) override;
  void restart() override { before_.clear(); }

 private:
  /// What one memory has.
  struct Chosen {
    std::optional<std::size_t> candidate = {};  ///< in force; none: nothing has been chosen yet
    std::vector<Sources> sources = {};          ///< [candidate], found last beside it
    bool operator==(const Chosen&) const = default;
  };
  FoundWaves find_from(Chosen& chosen, bool chooses, std::span<const std::complex<double>> field,
                       const MicrophoneMask& mask);
  FoundWaves find_beside(std::size_t candidate, Chosen& chosen, std::span<const std::complex<double>> field,
                         const MicrophoneMask& mask);

  std::vector<FieldPrior> priors_;   ///< [candidate]
  std::vector<WaveFinder> finders_;  ///< [candidate]
  SearchMemory<Chosen> before_;
};

}  // namespace nearfield
