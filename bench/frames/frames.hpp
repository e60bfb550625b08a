#pragma once
#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/frame_needs.hpp"
#include "bench/common/timing.hpp"
#include "bench/common/variants.hpp"
#include "bench/frames/sustained.hpp"
#include "core/settings.hpp"

/// `nearfield bench frames`: whole frames, from bits in host memory to images in host memory.
namespace nearfield::bench {

/// Factors that are varied one at a time from the configuration; an empty one is left out.
struct FrameSweeps {
  std::vector<int> counts = {1, 5, 10, 20, 50, 100};  ///< numbers of frequencies
  std::vector<std::string> front_ends = kinds_from_the_default_on();
  std::vector<int> planes = {1, 2};
  std::vector<int> hops = {1, 2, 8, 32, 46, 64, 100, 256, 1000};  ///< samples
  std::vector<int> batches = {1, 8, 32, 64};                      ///< frames a launch
  std::vector<int> windows = {512, 1024, 2048, 4096, 8192};
  std::vector<int> rows = {8, 16, 24, 31, 32, 33, 48};  ///< microphones, also of `columns`
  std::vector<int> columns = {8, 16, 24, 31, 32, 33, 48};
  bool crossed = false;  ///< also every count with every batch
  bool thesis = true;    ///< also the cases of table 7.2 and figure 7.10
};

/// One point of a sweep.
struct FrameCase {
  std::string sweep;   ///< "base", "n", "planes", "hop", "window", "rows", ..., as in FrameSweeps
  std::string label;   ///< such as "n = 5"
  double value = 0.0;  ///< value of the factor
  Settings settings = {};
  std::string problem = {};  ///< why there are no such settings; else empty

  [[nodiscard]] int batch() const { return settings.device.batch; }
};

struct FrameRun {
  FrameCase what;
  std::string front_end = {};         ///< with what its plan chose
  std::string imager = {};            ///< the first processor's path and its sizes
  std::string problem = {};           ///< why it was not measured; else empty
  double plan_s = 0.0;                ///< to build the engine
  FrameTiming timing = {};            ///< times of a launch, which is what.batch() frames
  std::vector<StageNeed> needs = {};  ///< [stage], as timing.stages, of a launch
  Floors floors = {};                 ///< lower bounds of a launch

  [[nodiscard]] bool measured() const { return problem.empty(); }
  [[nodiscard]] int frequencies() const { return static_cast<int>(what.settings.front_end.frequencies_hz.size()); }
  /// Median wall time of one frame.
  [[nodiscard]] double frame_s() const { return timing.wall_s.median / what.batch(); }
};

struct FrameBenchOptions {
  Settings settings;  ///< frequencies that were not set become kBaseCount bins
  FrameSweeps sweeps;
  TimingOptions timing = {.warm_up = 20, .repetitions = 2000, .most_s = 2.0};
  bool quick = false;                                ///< small transfers for the ceilings
  double sustain_s = 0.0;                            ///< 0: no stream
  std::size_t in_flight = 2;                         ///< batches of the stream
  std::function<void(const std::string&)> progress;  ///< receives the name of each measurement; may be empty
};
inline constexpr int kBaseCount = 5;

/// A straight line through a sweep's medians.
struct SweepLine {
  std::string sweep;  ///< "n" or "window"
  std::string what;   ///< "frame", or a stage
  Line line;
  double exponent = 0.0;  ///< log(last / first time) over log(last / first value); above 1 grows faster than its input
};

struct FrameReport {
  ocl::DeviceInfo device;
  Settings settings;  ///< settings of the base
  Ceilings ceilings;
  std::vector<FrameRun> runs;  ///< the base first
  std::vector<SweepLine> lines;
  std::optional<SustainedRun> sustained;
};

/// Every case of the options, the base first.
std::vector<FrameCase> frame_cases(const FrameBenchOptions& options);

/// A frame's time over what its hop allows: the time at hop 32, and where the hop is longer, as many times it as there
/// are hops of 32 in it. Hops that cost more than at hop 32 take longer than a user who selects fewer frames
/// expects.
struct HopCost {
  int hop_samples = 0;
  double frame_s = 0.0;
  double of_hop_32 = 0.0;
  [[nodiscard]] bool is_cliff() const { return of_hop_32 > kMostOfHop32; }
  /// 1 / 0.7: a stream that hop 32 keeps busy for 70 % of the time is held at any other hop, too.
  static constexpr double kMostOfHop32 = 1.43;
};
/// Costs in the hops' sweep, in its order; empty where hop 32 was not measured.
std::vector<HopCost> hop_costs(const std::vector<FrameRun>& runs);

/// Two neighbours of a sweep and how their launches' times differ: the larger one's over the smaller one's times the
/// growth of the factor, or the smaller one's over the larger one's, whichever is more. No size should cost much more
/// than its neighbours.
struct SweepStep {
  std::string sweep;
  std::string from;  ///< label of the smaller one
  std::string to;
  double ratio = 0.0;
  std::vector<std::string> changes;  ///< "front end" and "imager" where their path or their transform is another one
  [[nodiscard]] bool is_large() const { return ratio > kMostRatio; }
  [[nodiscard]] bool breaks_rule() const { return is_large() && changes.empty(); }
  static constexpr double kMostRatio = 1.5;
};
/// Steps in the sweeps of n, planes, batch, window, rows and columns, in this order.
std::vector<SweepStep> sweep_steps(const std::vector<FrameRun>& runs);

/// Points and steps that break either rule, a sentence each.
std::vector<std::string> broken_rules(const std::vector<FrameRun>& runs);

/// Lines of time against n and against the window's length, of whole frames and of stages that every point has.
std::vector<SweepLine> sweep_lines(const std::vector<FrameRun>& runs);

/// Throws DeviceError and ConfigError when not even the base can be measured.
FrameReport bench_frames(const FrameBenchOptions& options);

/// Runs of a sweep that were measured, in the order of their values.
std::vector<const FrameRun*> measured_runs(const std::vector<FrameRun>& runs, std::string_view sweep);
std::vector<const FrameRun*> runs_of(const FrameReport& report, std::string_view sweep);
/// Sum of the medians of the device's times of the stages that hold `part` in their name, transfers left out.
double kernels_s(const FrameRun& run, std::string_view part = "");

inline constexpr const char* kThesisSweep = "table 7.2";
inline constexpr const char* kTransformSweep = "figure 7.10";

std::string to_table(const FrameReport& report);
std::string to_csv(const FrameReport& report);
std::string to_json_text(const FrameReport& report);

}  // namespace nearfield::bench
