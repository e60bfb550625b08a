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

/// Plane waves of one frequency that are fitted together with an imager's prior.
struct FoundWaves {
  std::vector<PlaneWave> waves;
  double noise = 0.0;        ///< of a microphone over the prior's power, at which their amplitudes are fitted
  std::vector<float> table;  ///< as the imager's kernels read it (wave_table.hpp)
};

/// The result of a search, for the imager whose make_search() made it; each kind of imager derives its own.
struct Findings {
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  virtual ~Findings() = default;
  /// The number of plane waves found, [frequency], for status and log; empty where the search is for something else.
  [[nodiscard]] virtual std::vector<std::size_t> wave_counts() const { return {}; }
};

/// Plane waves fitted together with sonah's prior, [frequency].
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

/// The findings as the kind that an imager expects. Throws std::bad_cast for those of another kind of imager.
template <class Kind>
const Kind& findings_as(const std::shared_ptr<const Findings>& findings) {
  return dynamic_cast<const Kind&>(*findings);
}

/// Background estimator of parameters that take too long to estimate in every frame: works on the spectra of some
/// windows, on one thread at a time. A search starts with what is found in the window before, taken by itself: findings
/// are steady, and depend on two windows alone.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;
  /// spectra [frequency][row][column], Pa, as measured: neither calibrated nor interpolated. `mask` is the one in
  /// effect. Null where a microphone that is not masked has a value that is not finite.
  virtual std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra,
                                                 const MicrophoneMask& mask) = 0;
  /// There is no window before.
  virtual void restart() = 0;
};

/// The search for pnah's cut-offs and slopes; null where the plan sets none.
std::unique_ptr<Search> make_cutoff_search(const PnahPlan& plan);

/// The spectra that an imager works on: calibrated, masked microphones predicted. [frequency][row][column], Pa; empty
/// where a microphone that is not masked has a value that is not finite.
std::vector<std::complex<double>> usable_spectra(std::span<const std::complex<float>> spectra, const PnahPlan& plan,
                                                 const MicrophoneMask& mask);

}  // namespace nearfield
