#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/common/frame_needs.hpp"
#include "bench/common/timing.hpp"
#include "bench/common/variants.hpp"
#include "core/settings.hpp"

/// `nearfield bench frontends`: what every front end takes, for several numbers of frequencies.
namespace nearfield::bench {

struct FrontEndBenchOptions {
  Settings settings;        ///< array, layout, window, hop and device; kind and frequencies are set by the benchmark
  std::vector<int> counts;  ///< numbers of frequencies; empty: default_counts()
  TimingOptions timing;
  bool with_slow = true;                             ///< also the thesis's own slow ways
  bool quick = false;                                ///< small transfers for the ceilings
  std::function<void(const std::string&)> progress;  ///< receives the name of each measurement; may be empty
};

/// 1 to 10, 12 to 22, 30, 40, 44 and 50 on a GPU, as the thesis; a few of them else.
std::vector<int> default_counts(bool is_gpu);

struct FrontEndRun {
  Variant variant;
  int frequencies = 0;
  double plan_s = 0.0;           ///< to build the front end
  std::string description = {};  ///< FrontEnd::description() of the plan
  std::string problem = {};      ///< why it was not measured: what the front end said; else empty
  FrameTiming timing = {};
  std::vector<StageNeed> needs = {};  ///< [stage], as timing.stages
};

struct FrontEndReport {
  ocl::DeviceInfo device;
  Settings settings;
  Ceilings ceilings;
  std::vector<FrontEndRun> runs;                  ///< [variant][count], count fastest
  std::map<std::string, ocl::KernelUse> kernels;  ///< "variant, n = 5: stage"
  std::vector<int> walsh_counts;                  ///< [bin - 1] to 10 kHz, fig. 5.4
};

/// The phases of a frame: what a hop's bits cost when they come, and what the spectra cost then.
inline constexpr const char* kBitsPhase = "bits";
inline constexpr const char* kSpectraPhase = "spectra";

/// Throws DeviceError and ConfigError when nothing at all can be measured.
FrontEndReport bench_front_ends(const FrontEndBenchOptions& options);

/// The run of that variant and count; null when there is none or it has a problem.
const FrontEndRun* find_run(const FrontEndReport& report, std::string_view variant, int frequencies);
/// The thesis's time for a variant, s; NaN when it has none. Its table 7.1 and sections 7.3.2 and 7.3.3.
double thesis_time_s(const Variant& variant, int frequencies);

std::string to_table(const FrontEndReport& report);
std::string to_csv(const FrontEndReport& report);
std::string to_json_text(const FrontEndReport& report);

/// In place, natural (Hadamard) order, unscaled; the size must be a power of two.
void walsh_hadamard(std::vector<double>& values);

/// The thesis's arbitrary limit.
inline constexpr double kWalshThreshold = 0.1;

/// For bins 1 to `last_bin` of `length` bits: how many coefficients of a_k and b_k together exceed `threshold`, where
/// a_k = 2/N sum x cos and b_k = 2/N sum x sin are sums over the Walsh coefficients of x. The order of the functions
/// does not matter for a count.
std::vector<int> walsh_counts(int length, int last_bin, double threshold);

/// Bins that need 10 coefficients in fig. 5.4 of the thesis (its text, below eq. 5.14).
inline constexpr int kThesisTenCoefficientBins[] = {2, 4, 8, 16, 32, 64};
inline constexpr int kThesisFewestCoefficients = 10;

}  // namespace nearfield::bench
