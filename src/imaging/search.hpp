#pragma once
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "imaging/microphone_mask.hpp"
#include "imaging/pnah/pnah_plan.hpp"
#include "nearfield/frame.hpp"

namespace nearfield {

/// Wavenumbers of a plane wave over the microphones, e^{j (kx x + ky y)}.
struct PlaneWave {
  double kx_rad_per_m = 0.0;
  double ky_rad_per_m = 0.0;
};

/// Plane waves of one frequency that are fitted beside an imager's prior.
struct FoundWaves {
  std::vector<PlaneWave> waves;
  double noise = 0.0;        ///< of a microphone over the prior's power, that their amplitudes are fitted at
  std::vector<float> table;  ///< as the imager's kernels read it (wave_table.hpp)
};

/// What a search has found, for the processor whose make_search() made it: each kind of processor has its own.
struct Findings {
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  virtual ~Findings() = default;
  /// Plane waves that were found, [frequency], for people; empty where none are looked for.
  [[nodiscard]] virtual std::vector<std::size_t> wave_counts() const { return {}; }
};

/// Plane waves beside sonah's prior, [frequency].
struct WaveFindings : Findings {
  std::vector<FoundWaves> waves;
  [[nodiscard]] std::vector<std::size_t> wave_counts() const override {
    std::vector<std::size_t> counts;
    for (const FoundWaves& frequency : waves) {
      counts.push_back(frequency.waves.size());
    }
    return counts;
  }
};

/// Cut-offs and slopes of pnah's filter, [frequency].
struct FilterFindings : Findings {
  std::vector<FilterReport> filters;
};

/// As the kind that their taker knows. Throws std::bad_cast for another processor's.
template <class Kind>
const Kind& findings_as(const std::shared_ptr<const Findings>& findings) {
  return dynamic_cast<const Kind&>(*findings);
}

/// Background estimator of what takes too long for every frame: works on the spectra of some windows, on one thread at
/// a time, and finds what the processor is to use from then on. Remembers what it has found before.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;
  /// spectra [frequency][row][column], Pa, as measured: neither calibrated nor interpolated. `mask` is the one in
  /// effect. Null where these spectra do not serve because a microphone that is not masked is not finite.
  virtual std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra,
                                                 const MicrophoneMask& mask) = 0;
};

/// What searches for pnah's cut-offs and slopes; null where the plan wants no search.
std::unique_ptr<Search> make_cutoff_search(const PnahPlan& plan);

/// Spectra as the imager sees them: calibrated, masked microphones predicted. [frequency][row][column], Pa; empty when
/// a microphone that is not masked is not finite.
std::vector<std::complex<double>> usable_spectra(std::span<const std::complex<float>> spectra, const PnahPlan& plan,
                                                 const MicrophoneMask& mask);

}  // namespace nearfield
