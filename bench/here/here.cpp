#include "bench/here/here.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>

#include "bench/common/timing.hpp"
#include "bench/common/variants.hpp"
#include "bench/frames/sustained.hpp"
#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "config/words.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/numerics.hpp"
#include "core/system/limited_run.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"
#include "files/files.hpp"
#include "imaging/shared/image_plan.hpp"
#include "pipeline/input.hpp"
#include "simulate/scene.hpp"

namespace nearfield::bench {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr double kOwnFrames_s = 4.0;      ///< time for measuring the configuration's own frames
constexpr double kLighterFrames_s = 0.8;  ///< and those of a change
constexpr double kLeast_s = 1.5;          ///< least remaining time in which a change is tried
constexpr std::size_t kLeastFrames = 20;
constexpr int kWarmUpFrames = 5;
constexpr std::uint64_t kFirstSample = std::uint64_t{1} << 16U;

double seconds_from(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double processor_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The array as a capture or a scene describes it itself.
Settings described_by(const Settings& settings, const MeasurementGeometry& measurement, const WireLayout& layout,
                      const std::string& name) {
  return reconcile(settings, measurement, &layout, name);
}

/// Plan of the engine in nearfieldd: the source decides between bits and samples, and may bring the array's geometry.
EnginePlan plan_of(const Settings& settings) {
  using Kind = DaemonSettings::SourceKind;
  const DaemonSettings::Source& source = settings.daemon->source;
  EnginePlan plan = bits_plan(settings);
  double clock_hz = settings.array.clock_hz;
  if (source.kind == Kind::kSimulate) {
    const Scene scene = load_scene(source.scene);
    plan.settings = described_by(settings, scene.measurement, scene.layout, source.scene);
    clock_hz = kBitRateHz;
  } else if (source.kind == Kind::kFile && detect_file_kind(source.path) == FileKind::kCapture) {
    const CaptureInfo info = CaptureReader(source.path).info();
    plan.settings = described_by(settings, info.measurement, info.layout, source.path);
    clock_hz = info.sample_rate_hz;
  } else if (source.kind == Kind::kFile) {
    plan.input = InputForm::kSamples;
    const TimeDataReader reader(source.path, settings.array.channels);
    plan.sample_rate_hz = reader.sample_rate_hz();
    plan.settings = with_samples(settings, positions_beside(settings, reader.positions(), source.path),
                                 reader.channels(), source.path);
  } else if (source.payload == DaemonSettings::Payload::kSamples) {
    plan.input = InputForm::kSamples;
    plan.sample_rate_hz = clock_hz / settings.front_end.decimation;
    const ArrayGeometry& geometry = settings.array.geometry;
    plan.settings = with_samples(settings, {}, geometry.rows * geometry.columns, "daemon.source");
  }
  if (plan.input == InputForm::kBits) {
    plan.sample_rate_hz = clock_hz / kBitsPerWord;
    validate(plan.settings, clock_hz / plan.settings.front_end.decimation);
    plan.settings = in_words(plan.settings);
  } else {
    validate(plan.settings, plan.sample_rate_hz);
  }
  plan.settings.front_end.bands_hz.clear();
  return plan;
}

/// Noise, window after window, as the live engine feeds its engine.
class LiveFrames {
 public:
  LiveFrames(const ocl::Device& device, const EnginePlan& plan)
      : engine_(make_engine(device, plan)),
        is_bits_(plan.input == InputForm::kBits),
        hop_(static_cast<std::uint64_t>(plan.settings.front_end.hop_samples)),
        window_(static_cast<std::uint64_t>(plan.settings.front_end.window_samples)),
        feeder_(plan.settings.front_end) {
    const ArraySettings& array = plan.settings.array;
    const auto per_sample = static_cast<std::size_t>(
        is_bits_ ? kBitsPerWord * words_per_bit_time(array.layout, array.geometry) : array.geometry.channels());
    RandomStream random(2, 0);
    if (is_bits_) {
      bits_.resize(static_cast<std::size_t>(window_) * per_sample);
      std::generate(bits_.begin(), bits_.end(), [&] { return static_cast<std::uint32_t>(random.next() >> 32U); });
    } else {
      samples_.resize(static_cast<std::size_t>(window_) * per_sample);
      std::generate(samples_.begin(), samples_.end(), [&] {
        constexpr double kScale = 1.0 / 4294967296.0;
        return static_cast<float>(static_cast<double>(random.next() >> 32U) * kScale - 0.5);
      });
    }
    words_per_sample_ = per_sample;
    feeder_.begin(kFirstSample);
    next_ = kFirstSample + (engine_->history_samples() + hop_ - 1) / hop_ * hop_;
  }

  /// One frame, and the processors that are due behind it.
  void image() {
    const SampleSpan span = feeder_.next(next_, 1, *engine_);
    for (std::uint64_t fed = span.first; fed < span.end;) {
      const std::uint64_t part = std::min(span.end - fed, window_);
      push(fed, static_cast<std::size_t>(part) * words_per_sample_);
      fed += part;
    }
    const FinishedBatch batch = engine_->compute({.first_sample = next_});
    std::vector<std::size_t> due;
    for (std::size_t processor = 0; processor < engine_->processors(); ++processor) {
      if (engine_->is_late(processor) && engine_->is_due(processor, window_number_)) {
        due.push_back(processor);
      }
    }
    if (!due.empty()) {
      engine_->begin_late(batch, due);
      engine_->finish_late();
    }
    next_ += hop_;
    ++window_number_;
  }

 private:
  void push(std::uint64_t first, std::size_t count) {
    if (is_bits_) {
      const std::span<std::uint32_t> room = engine_->room_for_bits(count);
      std::copy_n(bits_.begin(), count, room.begin());
      engine_->push_bits(first, room);
    } else {
      engine_->push_samples(first, std::span(samples_).first(count));
    }
  }

  std::unique_ptr<Engine> engine_;
  bool is_bits_;
  std::uint64_t hop_;
  std::uint64_t window_;
  Feeder feeder_;
  std::size_t words_per_sample_ = 0;  ///< or floats
  std::vector<std::uint32_t> bits_;   ///< bits of a window
  std::vector<float> samples_;
  std::uint64_t next_ = 0;
  std::uint64_t window_number_ = 0;
};

/// In this process.
HereRun measure(const Settings& settings, double frames_s) {
  const EnginePlan plan = plan_of(settings);
  const ocl::Device device = ocl::Device::open(settings.device);
  LiveFrames frames(device, plan);
  for (int i = 0; i < kWarmUpFrames; ++i) {
    frames.image();
  }
  std::vector<double> taken_s;
  const double processor_before_s = processor_s();
  const Clock::time_point start = Clock::now();
  while (taken_s.size() < kLeastFrames || seconds_from(start) < frames_s) {
    const Clock::time_point begun = Clock::now();
    frames.image();
    taken_s.push_back(seconds_from(begun));
  }
  const double period_s = plan.settings.front_end.hop_samples / plan.sample_rate_hz;
  const Distribution all = distribution(taken_s);
  HereRun run;
  run.device = device.info().name;
  run.frames = static_cast<int>(all.count);
  run.period_s = period_s;
  run.mean_s = std::accumulate(taken_s.begin(), taken_s.end(), 0.0) / static_cast<double>(all.count);
  run.p50_s = all.median;
  run.p99_s = all.p99;
  run.longest_s = all.maximum;
  run.cores = (processor_s() - processor_before_s) / (period_s * static_cast<double>(all.count));
  run.waited_s = longest_wait_s(taken_s, period_s);
  run.allowed_s = 1e-3 * settings.daemon->overload.shed_hops_ms;
  return run;
}

json run_json(const HereRun& run) {
  return {{"changes", run.changes}, {"problem", run.problem},   {"device", run.device},
          {"frames", run.frames},   {"period_s", run.period_s}, {"mean_s", run.mean_s},
          {"p50_s", run.p50_s},     {"p99_s", run.p99_s},       {"longest_s", run.longest_s},
          {"cores", run.cores},     {"waited_s", run.waited_s}, {"allowed_s", run.allowed_s}};
}

HereRun run_of_json(const json& read) {
  HereRun run;
  run.problem = read.at("problem").get<std::string>();
  run.device = read.at("device").get<std::string>();
  run.frames = read.at("frames").get<int>();
  run.period_s = read.at("period_s").get<double>();
  run.mean_s = read.at("mean_s").get<double>();
  run.p50_s = read.at("p50_s").get<double>();
  run.p99_s = read.at("p99_s").get<double>();
  run.longest_s = read.at("longest_s").get<double>();
  run.cores = read.at("cores").get<double>();
  run.waited_s = read.at("waited_s").get<double>();
  run.allowed_s = read.at("allowed_s").get<double>();
  return run;
}

/// Measures in a child process: a compiler or a driver may take longer than `limit_s`.
HereRun measure_within(const Settings& settings, double frames_s, double limit_s) {
  LimitedRun child(
      [&] {
        HereRun run;
        try {
          run = measure(settings, frames_s);
        } catch (const std::exception& error) {  // a driver's wrapper throws what is no Error
          run.problem = error.what();
        }
        return run_json(run).dump(-1, ' ', false, json::error_handler_t::replace);
      },
      limit_s);
  const LimitedRun::Outcome outcome = child.wait();
  const json read = json::parse(outcome.output, nullptr, false);
  if (outcome.end == LimitedRun::End::kDone && read.is_object()) {
    return run_of_json(read);
  }
  HereRun run;
  run.problem = outcome.end == LimitedRun::End::kLate
                    ? fmt::format(
                          "not measured within {:.0f} s: its programs were still being compiled, or its frames "
                          "take seconds",
                          limit_s)
                    : fmt::format("its process {}, without a result", outcome.ending());
  return run;
}

std::vector<std::string> together(std::vector<std::string> settings, const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::string list_of(const std::vector<double>& values, std::size_t count) {
  return fmt::format("[{}]", fmt::join(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), ", "));
}

std::string change_text(const HereRun& run) {
  return run.changes.empty() ? "as it is" : fmt::format("--set {}", fmt::join(run.changes, " --set "));
}

}  // namespace

double longest_wait_s(const std::vector<double>& frames_s, double period_s) {
  double waiting_s = 0.0;
  double longest_s = 0.0;
  for (const double frame_s : frames_s) {
    longest_s = std::max(longest_s, waiting_s + frame_s);
    waiting_s = std::max(0.0, waiting_s + frame_s - period_s);
  }
  return longest_s;
}

std::vector<std::vector<std::string>> lighter_changes(const std::string& config,
                                                      const std::vector<std::string>& overrides) {
  const Settings settings = load_daemon_settings(config, overrides);
  const FrontEndSettings& front_end = settings.front_end;
  const HolographySettings& holography = settings.holography;
  std::vector<std::vector<std::string>> changes;
  const auto hop = [&](int factor) {
    changes.push_back({fmt::format("front_end.hop_samples={}", factor * front_end.hop_samples)});
  };
  const ImagerKind imager = resolve_imager(holography, {.geometry = settings.array.geometry,
                                                        .frequencies = front_end.frequencies_hz.size(),
                                                        .fft = settings.device.fft});
  if (imager == ImagerKind::kPnah && holography.filter.cutoff_rule == CutoffRule::kAuto) {
    changes.push_back({"holography.filter.cutoff_rad_per_m=search"});
  }
  for (const ProcessorSettings& processor : settings.processors) {
    constexpr int kMoreSeldom = 8;
    changes.push_back({fmt::format("processors.{}.every_hops={}", processor.name, kMoreSeldom * processor.every_hops)});
  }
  hop(2);
  const bool takes_pnah = settings.array.geometry.is_grid() && holography.surface_path.empty() &&
                          holography.prior == FieldPrior::kAuto && imager != ImagerKind::kOperators;
  if (takes_pnah && imager != ImagerKind::kPnah && imager != ImagerKind::kNone) {
    changes.push_back({fmt::format("holography.imager={}", name_of(ImagerKind::kPnah))});
  }
  if (holography.upsample > 1) {
    changes.push_back({"holography.upsample=1"});
  }
  hop(4);
  if (const std::size_t count = front_end.frequencies_hz.size(); count > 1) {
    changes.push_back({"front_end.frequencies_hz=" + list_of(front_end.frequencies_hz, (count + 1) / 2)});
  }
  for (const std::string& kind : kinds_from_the_default_on()) {
    if (kind != front_end.kind) {
      changes.push_back({"front_end.kind=" + kind});
    }
  }
  hop(16);
  if (holography.planes_m.size() > 1) {
    changes.push_back({"holography.planes_m=" + list_of(holography.planes_m, 1)});
  }
  return changes;
}

HereReport bench_here(const HereOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto left_s = [&] { return options.seconds - seconds_from(start) - 0.5; };
  const Settings settings = load_daemon_settings(options.config, options.overrides);
  HereReport report{.name = options.config.empty()             ? "the defaults"
                            : options.config == kStandardInput ? "standard input"
                                                               : options.config,
                    .runs = {}};
  report.runs.push_back(measure_within(settings, std::min(kOwnFrames_s, options.seconds / 4.0), left_s()));
  if (report.runs.front().measured() && !report.holds()) {
    for (const std::vector<std::string>& change : lighter_changes(options.config, options.overrides)) {
      if (left_s() < kLeast_s) {
        break;
      }
      HereRun run;
      try {
        run = measure_within(load_daemon_settings(options.config, together(options.overrides, change)),
                             kLighterFrames_s, std::min(left_s(), std::max(options.seconds / 4.0, left_s() / 2.0)));
      } catch (const ConfigError& error) {
        run.problem = error.what();
      }
      run.changes = change;
      report.runs.push_back(std::move(run));
    }
  }
  report.seconds = seconds_from(start);
  return report;
}

std::string HereReport::verdict() const {
  const HereRun& own = runs.front();
  if (!own.measured()) {
    return fmt::format("{}: whether this machine holds it is not known: {}", name, own.problem);
  }
  const std::string figures = fmt::format("{:.0f} frames a second take {:.0f} % of the time and {:.1f} processors",
                                          1.0 / own.period_s, 100.0 * own.load(), own.cores);
  if (own.holds()) {
    return fmt::format("{}: this machine holds it: {}", name, figures);
  }
  std::vector<std::string> helpful;
  for (const HereRun& run : runs) {
    if (run.holds()) {
      helpful.push_back(change_text(run));
    }
  }
  return fmt::format("{}: this machine does not hold it: {}; {}", name, figures,
                     helpful.empty() ? "none of the single changes that were tried is enough"
                                     : fmt::format("it holds it with {}", fmt::join(helpful, ", or with ")));
}

std::string to_table(const HereReport& report) {
  std::string text = report.verdict() + "\n\n";
  text += fmt::format("{:>5}  {:>9}  {:>9}  {:>9}  {:>9}  {:>6}  {:>9}  {:>9}  {}\n", "holds", "period ms", "p50 ms",
                      "p99 ms", "max ms", "load %", "cores", "age ms", "settings");
  for (const HereRun& run : report.runs) {
    if (run.measured()) {
      text += fmt::format("{:>5}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>9.3f}  {:>6.0f}  {:>9.2f}  {:>9.1f}  {}\n",
                          run.holds() ? "yes" : "no", 1e3 * run.period_s, 1e3 * run.p50_s, 1e3 * run.p99_s,
                          1e3 * run.longest_s, 100.0 * run.load(), run.cores, 1e3 * run.waited_s, change_text(run));
    } else {
      text += fmt::format("{:>5}  {}: {}\n", "?", change_text(run), run.problem);
    }
  }
  return text;
}

json to_json(const HereReport& report) {
  json runs = json::array();
  for (const HereRun& run : report.runs) {
    json one = run_json(run);
    one["holds"] = run.holds();
    one["load"] = run.measured() ? json(run.load()) : json();
    runs.push_back(std::move(one));
  }
  return {{"configuration", report.name},
          {"holds", report.runs.front().measured() ? json(report.holds()) : json()},
          {"verdict", report.verdict()},
          {"seconds", report.seconds},
          {"runs", std::move(runs)}};
}

}  // namespace nearfield::bench
