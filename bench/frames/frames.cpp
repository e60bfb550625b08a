#include "bench/frames/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "bench/common/figures.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/numerics.hpp"
#include "core/system/memory.hpp"

namespace nearfield::bench {
namespace {

/// Fresh random bits for every frame, in the engine's own room where one push takes them all.
class FedEngine {
 public:
  FedEngine(const ocl::Device& device, const EnginePlan& plan)
      : engine_(make_engine(device, plan)),
        batch_(to_size(plan.settings.device.batch)),
        hop_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)),
        words_per_sample_(
            to_size(kBitsPerWord * words_per_bit_time(plan.settings.array.layout, plan.settings.array.geometry))),
        most_(most_pushed(*engine_, plan.settings)),
        first_((engine_->history_samples() + hop_ - 1) / hop_ * hop_) {  // a sliding DFT needs whole hops
    bits_.resize(static_cast<std::size_t>(hop_) * batch_ * words_per_sample_);
    const auto window = static_cast<std::uint64_t>(plan.settings.front_end.window_samples);
    for (std::uint64_t left = first_ + window + (batch_ - 1) * hop_; left > 0;) {
      const std::uint64_t part = std::min(left, most_);
      const std::span<std::uint32_t> room = engine_->room_for_bits(static_cast<std::size_t>(part) * words_per_sample_);
      randomise(room);
      push(room);
      left -= part;
    }
    (void)engine_->compute({.first_sample = first_, .windows = batch_});
  }
  [[nodiscard]] std::string front_end_name() const { return engine_->front_end_name(); }
  [[nodiscard]] std::string imager_name() const { return engine_->description(0); }
  FrameWork work() {
    return {.prepare = [this] { prepare(); }, .phases = {{kFrame, [this] { image(); }}}, .waits = true};
  }

 private:
  [[nodiscard]] bool fits() const { return hop_ * batch_ <= most_; }
  void randomise(std::span<std::uint32_t> wire) {
    for (std::size_t i = 0; i + 1 < wire.size(); i += 2) {
      const std::uint64_t bits = random_.next();
      wire[i] = static_cast<std::uint32_t>(bits);
      wire[i + 1] = static_cast<std::uint32_t>(bits >> 32U);
    }
    if (wire.size() % 2 != 0) {
      wire.back() = static_cast<std::uint32_t>(random_.next());
    }
  }
  void prepare() {
    randomise(bits_);
    wire_ = bits_;
    if (fits()) {  // bits are copied before the clock runs, like those of a live source
      const std::span<std::uint32_t> room = engine_->room_for_bits(bits_.size());
      copy_words(bits_, room, engine_->copying());
      wire_ = room;
    }
  }
  void push(std::span<const std::uint32_t> wire) {
    engine_->push_bits(pushed_, wire);
    pushed_ += wire.size() / words_per_sample_;
  }
  void image() {
    for (std::span<const std::uint32_t> left = wire_; !left.empty();) {
      const std::span<const std::uint32_t> part =
          left.first(std::min(left.size(), static_cast<std::size_t>(most_) * words_per_sample_));
      push(part);
      left = left.subspan(part.size());
    }
    first_ += hop_ * batch_;
    seen_ = seen_ + first_value(engine_->compute({.first_sample = first_, .windows = batch_}));
  }

  /// First value of the last processor's last product.
  [[nodiscard]] float first_value(const FinishedBatch& batch) {
    const Products products = engine_->read(batch, engine_->processors() - 1, 0).products;
    return products.empty() || products.back().empty() ? 0.0F
                                                       : static_cast<float>(std::to_integer<int>(products.back()[0]));
  }

  std::unique_ptr<Engine> engine_;
  std::size_t batch_;
  std::uint64_t hop_;
  std::size_t words_per_sample_;
  std::uint64_t most_;
  std::uint64_t first_;
  std::uint64_t pushed_ = 0;
  std::vector<std::uint32_t> bits_;
  std::span<std::uint32_t> wire_;
  RandomStream random_{1, 0};
  volatile float seen_ = 0.0F;
};

// --- measurements ----------------------------------------------------------------------------------------------------

/// Wall times on a queue as `replay` has it, the device's times on one that records them.
class FrameBench {
 public:
  FrameBench(const FrameBenchOptions& options, const ocl::Device& plain)
      : options_(options),
        plain_(plain),
        profiled_(ocl::Device::open(options.settings.device, ocl::Profiling::kOn)),
        ceilings_(measure_ceilings(plain_, options.quick)) {}
  [[nodiscard]] const Ceilings& ceilings() const { return ceilings_; }
  /// Cases of the same settings are measured once.
  FrameRun run(const FrameCase& what) {
    const std::string key = to_yaml(what.settings);
    if (const auto found = done_.find(key); what.problem.empty() && found != done_.end()) {
      FrameRun again = found->second;
      again.what = what;
      return again;
    }
    if (options_.progress) {
      options_.progress(fmt::format("{}: {}", what.sweep, what.label));
    }
    FrameRun run{.what = what, .problem = what.problem};
    if (!run.measured()) {
      return run;
    }
    try {
      measure(run);
    } catch (const ConfigError& error) {
      run.problem = error.what();
    } catch (const DeviceError& error) {
      run.problem = error.what();
    }
    done_.emplace(key, run);
    return run;
  }

 private:
  void measure(FrameRun& run) {
    const EnginePlan plan = bits_plan(run.what.settings);
    {
      const auto start = std::chrono::steady_clock::now();
      FedEngine engine(plain_, plan);
      run.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      run.front_end = engine.front_end_name();
      run.imager = engine.imager_name();
      run.timing.wall_s = time_wall(plain_, options_.timing, engine.work());
    }
    FedEngine engine(profiled_, plan);
    time_stages(profiled_, options_.timing, engine.work(), run.timing);
    for (const StageTiming& stage : run.timing.stages) {
      StageNeed need = frame_need_of(stage.stage, run.what.settings);
      need.bytes = std::max(need.bytes, stage.bytes);
      run.needs.push_back(need);
    }
    run.floors = floors_of(run.timing, run.needs, ceilings_);
  }

  const FrameBenchOptions& options_;
  ocl::Device plain_;
  ocl::Device profiled_;
  Ceilings ceilings_;
  std::map<std::string, FrameRun> done_;
};

SustainedRun sustain(const FrameBenchOptions& options, const ocl::Device& device, const Settings& settings) {
  if (options.progress) {
    options.progress(fmt::format("a stream for {:g} s", options.sustain_s));
  }
  const EnginePlan plan = bits_plan(settings, options.in_flight);
  const BitPool pool(plan);
  const std::unique_ptr<Engine> engine = make_engine(device, plan);
  std::vector<KeptFrame> kept;
  const auto hop = static_cast<std::uint64_t>(settings.front_end.hop_samples);
  SustainedRun run = run_stream(*engine, plan, pool,
                                {.seconds = options.sustain_s,
                                 .every = keep_every(pool.samples() / hop),
                                 .keep = [&](KeptFrame frame) { kept.push_back(std::move(frame)); }});
  if (options.progress) {
    options.progress(fmt::format("{} of its frames against the reference", kept.size()));
  }
  run.check = check_frames(plan, pool, kept);
  return run;
}

/// Device time of a stage in a run; negative where it has no such stage.
double stage_s(const FrameRun& run, const std::string& stage) {
  for (const StageTiming& timing : run.timing.stages) {
    if (timing.stage == stage) {
      return timing.device_s.median / run.what.batch();
    }
  }
  return -1.0;
}

SweepLine line_of(const std::string& sweep, const std::string& what, const std::vector<double>& x,
                  const std::vector<double>& y) {
  return {.sweep = sweep,
          .what = what,
          .line = fit_line(x, y),
          .exponent = std::log(y.back() / y.front()) / std::log(x.back() / x.front())};
}

}  // namespace

std::vector<const FrameRun*> measured_runs(const std::vector<FrameRun>& runs, std::string_view sweep) {
  std::vector<const FrameRun*> found;
  for (const FrameRun& run : runs) {
    if (run.what.sweep == sweep && run.measured()) {
      found.push_back(&run);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FrameRun* a, const FrameRun* b) { return a->what.value < b->what.value; });
  return found;
}

std::vector<SweepLine> sweep_lines(const std::vector<FrameRun>& runs) {
  std::vector<SweepLine> lines;
  for (const std::string sweep : {"n", "window"}) {
    const std::vector<const FrameRun*> points = measured_runs(runs, sweep);
    if (points.size() < 2 || points.front()->what.value == points.back()->what.value) {
      continue;
    }
    std::vector<double> x;
    std::vector<double> frame_s;
    for (const FrameRun* run : points) {
      x.push_back(run->what.value);
      frame_s.push_back(run->frame_s());
    }
    lines.push_back(line_of(sweep, kFrame, x, frame_s));
    for (const StageTiming& stage : points.front()->timing.stages) {
      std::vector<double> seconds;
      for (const FrameRun* run : points) {
        seconds.push_back(stage_s(*run, stage.stage));
      }
      if (std::all_of(seconds.begin(), seconds.end(), [](double s) { return s > 0.0; })) {
        lines.push_back(line_of(sweep, stage.stage, x, seconds));
      }
    }
  }
  return lines;
}

FrameReport bench_frames(const FrameBenchOptions& options) {
  const std::vector<FrameCase> cases = frame_cases(options);
  const ocl::Device plain = ocl::Device::open(options.settings.device);
  FrameBench bench(options, plain);
  FrameReport report;
  report.device = plain.info();
  report.settings = cases.front().settings;
  report.ceilings = bench.ceilings();
  for (const FrameCase& what : cases) {
    report.runs.push_back(bench.run(what));
  }
  if (!report.runs.front().measured()) {
    throw ConfigError(report.runs.front().problem);
  }
  report.lines = sweep_lines(report.runs);
  if (options.sustain_s > 0.0) {
    report.sustained = sustain(options, plain, report.settings);
  }
  return report;
}

std::vector<const FrameRun*> runs_of(const FrameReport& report, std::string_view sweep) {
  return measured_runs(report.runs, sweep);
}

double kernels_s(const FrameRun& run, std::string_view part) {
  double seconds = 0.0;
  for (const StageTiming& stage : run.timing.stages) {
    if (kind_of_stage(stage.stage) == StageKind::kDevice && stage.stage.find(part) != std::string::npos) {
      seconds += stage.device_s.median;
    }
  }
  return seconds;
}

}  // namespace nearfield::bench
