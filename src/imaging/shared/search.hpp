#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/frame.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Wavenumbers of a plane wave over the microphones, e^{j (kx x + ky y)}.
struct PlaneWave {
  double kx_rad_per_m = 0.0;
  double ky_rad_per_m = 0.0;
  bool operator==(const PlaneWave&) const = default;
};

/// Position of a monopole, whose field is e^{-j k r} / r, on the axes of images; or the centre of a disc parallel to
/// them, over which monopoles are spread evenly, with the mean of their fields: that of a piston in a baffle.
struct PointSource {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = 0.0;       ///< below 0: behind the surface
  double radius_m = 0.0;  ///< radius of the disc; 0: a monopole
  [[nodiscard]] bool is_disc() const { return radius_m > 0.0; }
  bool operator==(const PointSource&) const = default;
};

class SonahArrays;

/// Prediction of masked microphones from all others that suits the residual of sources, in place of that of the mask;
/// and the table of the same sources for it. It belongs to one mask and is not used while another one is in effect.
struct ResidualFilling {
  std::vector<std::int32_t> masked;  ///< ascending; empty: the mask's own prediction suits
  double noise = 0.0;                ///< microphone noise over the prior's power; amplitudes are fitted with it, too
  std::vector<float> weights;        ///< [masked][row][column], like MicrophoneMask::prior_weights of a frequency
  std::vector<float> table;          ///< like FoundWaves::table
  [[nodiscard]] bool is_for(const std::vector<std::int32_t>& channels) const {
    return !masked.empty() && masked == channels;
  }
};

/// Prior of one frequency, and the plane waves and point sources that are fitted together with it.
struct FoundWaves {
  std::optional<FieldPrior> prior = FieldPrior::kLayer;  ///< nullopt: the imager has only one
  std::vector<PlaneWave> waves;
  std::vector<PointSource> points;
  /// Amplitudes of the waves, then of the points, in the measurement in which they were found.
  std::vector<std::complex<double>> amplitudes = {};
  double noise = 0.0;     ///< microphone noise over the prior's power, for which their amplitudes are fitted
  std::size_t share = 0;  ///< index in shares_behind() of the prior beside which they were found
  /// Microphones that the fit left out, ascending; other masked ones count with their filled values.
  std::vector<std::int32_t> left_out = {};
  std::vector<float> table;      ///< layout of the imager's kernels (source_table.hpp)
  ResidualFilling filling = {};  ///< used by sonah
  /// Model of that prior in the layout of the kernels of the imager that made the search. Null until the prior of this
  /// frequency first changes, and for other imagers.
  std::shared_ptr<const SonahArrays> arrays = {};
  bool is_of_either_side = false;  ///< one of the waves may come from behind the array just as well
  [[nodiscard]] bool has_sources() const { return !waves.empty() || !points.empty(); }
};

/// The result of a search, for the imager whose make_search() made it; each kind of imager derives its own.
struct Findings {
  Findings() = default;
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  virtual ~Findings() = default;
  /// The prior and the sources of each frequency, for the status; empty if the search is for something else.
  [[nodiscard]] virtual std::span<const FoundWaves> frequencies() const { return {}; }
};

/// Prior of sonah, and the plane waves and point sources beside it or beside the prior of operators, [frequency].
struct WaveFindings : Findings {
  std::vector<FoundWaves> waves;
  [[nodiscard]] std::span<const FoundWaves> frequencies() const override { return waves; }
};

/// Cut-offs and slopes of pnah's filter, [frequency].
struct FilterFindings : Findings {
  std::vector<FilterReport> filters;
};

/// Casts the findings to the type that an imager expects. Throws std::bad_cast for those of another kind of imager.
template <class Kind>
const Kind& findings_as(const std::shared_ptr<const Findings>& findings) {
  return dynamic_cast<const Kind&>(*findings);
}

/// Period in searches after which a memory restarts, half a period after the other one; the older of the two is in
/// use.
inline constexpr std::uint64_t kSearchMemory = 8;
inline constexpr std::uint64_t kSearchHalf = kSearchMemory / 2;

/// State of a search in each of its two memories.
template <class State>
class SearchMemory {
 public:
  /// The memory that is settling, and the one in use.
  struct Pair {
    State* settling = nullptr;
    State* serving = nullptr;
  };
  /// Memories for a search. One that is out of date restarts with it.
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
    std::uint64_t half = 0;  ///< 1 more than the half in which it began
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
/// starts with the findings before, so that findings are steady. It has two memories that restart alternately, like
/// imagers: findings depend on kSearchMemory searches at most.
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
  /// Gives all searches one number: a memory without an end.
  std::shared_ptr<const Findings> search(std::span<const std::complex<float>> spectra, const MicrophoneMask& mask) {
    return search(spectra, mask, 0);
  }
  /// Forgets all findings.
  virtual void restart() = 0;
};

using MakeSearch = std::function<std::unique_ptr<Search>()>;

/// A search that is constructed at its first search(), on the thread of that call: a start does not wait for its
/// models, which take tenths of a second. `make` owns what it needs, and does not return null. If it throws, so does
/// search(), and the next call tries again.
std::unique_ptr<Search> defer_search(MakeSearch make);

}  // namespace nearfield
