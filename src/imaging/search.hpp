#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
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
  bool operator==(const PlaneWave&) const = default;
};

/// Place of a monopole, whose field is e^{-j k r} / r, on the axes of images; or the centre of a disc parallel to them,
/// over which monopoles are spread evenly, with the mean of their fields: that of a piston in a baffle.
struct PointSource {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = 0.0;       ///< below 0: behind the surface
  double radius_m = 0.0;  ///< of the disc; 0: a monopole
  [[nodiscard]] bool is_disc() const { return radius_m > 0.0; }
  bool operator==(const PointSource&) const = default;
};

class SonahArrays;

/// A prediction of masked microphones from all others that suits what sources leave, in place of that of the mask; and
/// the table of the same sources that goes with it. Of one mask: where another one is in effect it is not used.
struct ResidualFilling {
  std::vector<std::int32_t> masked;  ///< ascending; empty: the mask's own prediction suits
  double noise = 0.0;                ///< of a microphone over the prior's power; amplitudes are fitted with it, too
  std::vector<float> weights;        ///< [masked][row][column], as MicrophoneMask::prior_weights of a frequency
  std::vector<float> table;          ///< as FoundWaves::table
  [[nodiscard]] bool is_for(const std::vector<std::int32_t>& channels) const {
    return !masked.empty() && masked == channels;
  }
};

/// The prior of one frequency, and the plane waves and point sources that are fitted together with it.
struct FoundWaves {
  std::optional<FieldPrior> prior = FieldPrior::kLayer;  ///< none: the imager has one alone
  std::vector<PlaneWave> waves;
  std::vector<PointSource> points;
  /// Of the waves, then of the points, in the measurement that they were found in.
  std::vector<std::complex<double>> amplitudes = {};
  double noise = 0.0;  ///< of a microphone over the prior's power, at which their amplitudes are fitted
  /// Microphones that the fit left out, ascending; masked ones that are not among them count as they are filled.
  std::vector<std::int32_t> left_out = {};
  std::vector<float> table;      ///< as the imager's kernels read it (source_table.hpp)
  ResidualFilling filling = {};  ///< of sonah
  /// The model of that prior as the kernels of the imager that made the search read it. Null until the prior of this
  /// frequency first changes, and for other imagers.
  std::shared_ptr<const SonahArrays> arrays = {};
  [[nodiscard]] bool has_sources() const { return !waves.empty() || !points.empty(); }
};

/// The result of a search, for the imager whose make_search() made it; each kind of imager derives its own.
struct Findings {
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  virtual ~Findings() = default;
  /// The prior and the sources of each frequency, for the status; empty where the search is for something else.
  [[nodiscard]] virtual std::span<const FoundWaves> frequencies() const { return {}; }
};

/// What sonah expects of a field, and the plane waves and point sources beside that or beside the prior of operators,
/// [frequency].
struct WaveFindings : Findings {
  std::vector<FoundWaves> waves;
  [[nodiscard]] std::span<const FoundWaves> frequencies() const override { return waves; }
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

/// A memory begins anew every kSearchMemory searches, half of that after the other one, and serves while it is the
/// older one.
inline constexpr std::uint64_t kSearchMemory = 8;
inline constexpr std::uint64_t kSearchHalf = kSearchMemory / 2;

/// What a search has in each of its two memories.
template <class State>
class SearchMemory {
 public:
  /// The memory that settles now, and the one that serves.
  struct Pair {
    State* settling = nullptr;
    State* serving = nullptr;
  };
  /// Of a search. A memory that is not of its time begins with it.
  Pair at(std::uint64_t number) {
    const std::uint64_t half = number / kSearchHalf;
    Slot& settling = slots_[half % 2];
    Slot& serving = slots_[(half + 1) % 2];
    begin(settling, half + 1);
    begin(serving, half);
    return {.settling = &settling.state, .serving = &serving.state};
  }
  void clear() { slots_ = {}; }

 private:
  struct Slot {
    std::uint64_t half = 0;  ///< 1 more than that in which it began
    bool is_begun = false;
    State state = {};
  };
  static void begin(Slot& slot, std::uint64_t half) {
    if (!slot.is_begun || slot.half != half) {
      slot = {.half = half, .is_begun = true};
    }
  }
  std::array<Slot, 2> slots_;
};

/// Background estimator of parameters that take too long to estimate in every frame: works on the spectra of some
/// windows, on one thread at a time, whose owner may end it early (Stoppable); it must be restarted then. A search
/// starts with what was found before, so that findings are steady. It has two memories that begin anew in turn, as
/// imagers have: findings depend on kSearchMemory searches at most.
class Search {
 public:
  Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  virtual ~Search() = default;
  /// spectra [frequency][row][column], Pa, as measured: neither calibrated nor interpolated. `mask` is the one in
  /// effect; `number` counts searches from the stream's first one. Null where a microphone that is not masked has a
  /// value that is not finite.
  virtual std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra,
                                                 const MicrophoneMask& mask, std::uint64_t number) = 0;
  /// All of one number: a memory without an end.
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask) {
    return search(spectra, mask, 0);
  }
  /// Nothing was found before.
  virtual void restart() = 0;
};

/// The search for pnah's cut-offs and slopes; null where the plan sets none.
std::unique_ptr<Search> make_cutoff_search(const PnahPlan& plan);

/// The spectra that an imager works on: calibrated, masked microphones predicted. [frequency][row][column], Pa; empty
/// where a microphone that is not masked has a value that is not finite.
std::vector<std::complex<double>> usable_spectra(std::span<const std::complex<float>> spectra, const PnahPlan& plan,
                                                 const MicrophoneMask& mask);

}  // namespace nearfield
