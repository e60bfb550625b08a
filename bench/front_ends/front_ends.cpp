#include "bench/front_ends/front_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/numerics.hpp"
#include "frontend/front_end.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield::bench {

void walsh_hadamard(std::vector<double>& values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t start = 0; start < values.size(); start += 2 * half) {
      for (std::size_t i = start; i < start + half; ++i) {
        const double sum = values[i] + values[i + half];
        values[i + half] = values[i] - values[i + half];
        values[i] = sum;
      }
    }
  }
}

std::vector<int> walsh_counts(int length, int last_bin, double threshold) {
  const double limit = threshold * length / 2.0;
  std::vector<double> line(static_cast<std::size_t>(length));
  std::vector<int> counts;
  for (int bin = 1; bin <= last_bin; ++bin) {
    int count = 0;
    for (const double shift_rad : {0.0, -std::numbers::pi / 2.0}) {
      for (int i = 0; i < length; ++i) {
        // Whole turns are taken off first: the phase keeps its digits.
        const auto turn = static_cast<double>(static_cast<long long>(i) * bin % length) / length;
        line[static_cast<std::size_t>(i)] = std::cos(2.0 * std::numbers::pi * turn + shift_rad);
      }
      walsh_hadamard(line);
      count += static_cast<int>(
          std::count_if(line.begin(), line.end(), [&](double value) { return std::abs(value) > limit; }));
    }
    counts.push_back(count);
  }
  return counts;
}

namespace {

/// A front end that is fed with random bits, hop by hop.
class FedFrontEnd {
 public:
  FedFrontEnd(const ocl::Device& device, const FrontEndPlan& plan)
      : device_(device),
        front_end_(make_front_end(device, plan)),
        window_(to_size(plan.settings.window_samples)),
        group_words_(to_size(kBitsPerWord * words_per_bit_time(plan.layout, plan.geometry))),
        hop_(to_size(plan.settings.hop_samples) * group_words_),
        spectra_(device.allocate<std::complex<float>>(
            plan.settings.frequencies_hz.size() * to_size(plan.geometry.channels()), "bench/spectra")),
        status_(device.allocate<std::uint32_t>(kStatusWords, "bench/status")) {
    device.enqueue_fill(status_, std::uint32_t{0}, "bench/status");
    fill_history();
  }
  [[nodiscard]] std::string description() const { return front_end_->description(); }
  FrameWork work() {
    return {.prepare = [this] { randomise(hop_); },
            .phases = {{kBitsPhase, [this] { feed(hop_); }},
                       {kSpectraPhase, [this] { front_end_->enqueue_spectra(fed_ - window_, spectra_, status_); }}}};
  }

 private:
  void randomise(std::vector<std::uint32_t>& wire) {
    for (std::uint32_t& word : wire) {
      word = static_cast<std::uint32_t>(random_.next() >> 32U);
    }
  }
  void feed(const std::vector<std::uint32_t>& wire) {
    front_end_->enqueue_bits(fed_, wire);
    fed_ += wire.size() / group_words_;
  }
  void fill_history() {
    std::vector<std::uint32_t> block(window_ * group_words_);
    while (fed_ < window_ + front_end_->history_words()) {
      randomise(block);
      feed(block);
      device_.wait();
    }
  }
  ocl::Device device_;
  std::unique_ptr<FrontEnd> front_end_;
  std::size_t window_;
  std::size_t group_words_;
  std::vector<std::uint32_t> hop_;
  RandomStream random_{1, 0};
  ocl::Buffer<std::complex<float>> spectra_;
  ocl::Buffer<std::uint32_t> status_;
  std::uint64_t fed_ = 0;
};

FrontEndPlan plan_of(const Settings& settings, const Variant& variant, int frequencies) {
  FrontEndPlan plan{.geometry = settings.array.geometry,
                    .layout = settings.array.layout,
                    .sensitivity_dbfs = settings.array.sensitivity_dbfs,
                    .settings = settings_of(variant, settings.front_end),
                    .dead_channels = settings.array.dead_channels};
  plan.settings.frequencies_hz = bin_frequencies(frequencies, settings.front_end.window_samples, plan.sample_rate_hz);
  return plan;
}

void measure(const ocl::Device& device, const FrontEndBenchOptions& options, FrontEndRun& run) {
  const auto start = std::chrono::steady_clock::now();
  const FrontEndPlan plan = plan_of(options.settings, run.variant, run.frequencies);
  FedFrontEnd front_end(device, plan);
  run.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.description = front_end.description();
  run.timing = time_frames(device, options.timing, front_end.work());
  Settings settings = options.settings;
  settings.front_end = plan.settings;
  settings.device.batch = plan.batch;
  for (const StageTiming& stage : run.timing.stages) {
    StageNeed need = frame_need_of(stage.stage, settings);
    need.bytes = std::max(need.bytes, stage.bytes);
    run.needs.push_back(need);
  }
}

}  // namespace

std::vector<int> default_counts(bool is_gpu) {
  if (is_gpu) {
    return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 30, 40, 44, 50};
  }
  return {1, 2, 5, 10, 20, 50};
}

FrontEndReport bench_front_ends(const FrontEndBenchOptions& options) {
  const ocl::Device device = ocl::Device::open(options.settings.device, ocl::Profiling::kOn);
  const std::vector<int> counts = options.counts.empty() ? default_counts(device.info().is_gpu) : options.counts;
  FrontEndReport report;
  report.device = device.info();
  report.settings = options.settings;
  report.ceilings = measure_ceilings(device, options.quick);
  for (const Variant& variant : variants()) {
    if (variant.use == VariantUse::kSlow && !options.with_slow) {
      continue;
    }
    for (const int count : counts) {
      FrontEndRun run{.variant = variant, .frequencies = count};
      if (options.progress) {
        options.progress(fmt::format("{}, n = {}", variant.name, count));
      }
      try {
        measure(device, options, run);
      } catch (const ConfigError& error) {
        run.problem = error.what();
      } catch (const DeviceError& error) {
        run.problem = error.what();
      }
      for (const auto& [stage, use] : device.recorder()->take_uses()) {
        report.kernels[fmt::format("{}, n = {}: {}", variant.name, count, stage)] = use;
      }
      report.runs.push_back(std::move(run));
    }
  }
  const int bits = options.settings.front_end.window_samples * kBitsPerWord;
  if ((bits & (bits - 1)) == 0) {
    report.walsh_counts = walsh_counts(bits, static_cast<int>(kTopFrequency_hz / kBitRateHz * bits), kWalshThreshold);
  }
  return report;
}

const FrontEndRun* find_run(const FrontEndReport& report, std::string_view variant, int frequencies) {
  for (const FrontEndRun& run : report.runs) {
    if (run.variant.name == variant && run.frequencies == frequencies && run.problem.empty()) {
      return &run;
    }
  }
  return nullptr;
}

double thesis_time_s(const Variant& variant, int frequencies) {
  if (variant.thesis == "nominal") {
    return 0.138e-3;  // table 7.1; the FPGA's filter is about 0.001 ms of it
  }
  if (variant.thesis == "Walsh-Fourier, precomputed" || variant.thesis == "Walsh-Fourier") {
    return 0.32e-3 * frequencies;  // section 7.3.3: a hologram
  }
  if (variant.thesis == "Walsh-Fourier, computed") {
    return 1.25e-3 * frequencies;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

namespace {

struct FrontEndArguments {
  Outputs outputs;
  std::string config;
  std::vector<std::string> overrides;
  std::vector<int> counts;
  TimingOptions timing;
  bool quick = false;
};

void run_front_ends(const FrontEndArguments& arguments) {
  require_outputs(arguments.outputs);
  FrontEndBenchOptions options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.outputs.device);
  options.counts = arguments.counts;
  options.timing = arguments.timing;
  options.quick = arguments.quick;
  options.with_slow = !arguments.quick;
  options.progress = show_progress;
  const FrontEndReport report = bench_front_ends(options);
  write_outputs(report, arguments.outputs);
}

}  // namespace

void add_front_ends(CLI::App& bench) {
  auto arguments = std::make_shared<FrontEndArguments>();
  CLI::App* command = bench.add_subcommand("frontends", "What every front end takes on this device");
  add_outputs(*command, arguments->outputs);
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input): array, window and hop; all else is walked");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--n", arguments->counts, "numbers of frequencies, such as 1,2,5")->delimiter(',');
  command->add_option("--repetitions", arguments->timing.repetitions, "frames that count")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--warm-up", arguments->timing.warm_up, "frames before these")->check(CLI::Range(0, 1000000));
  command->add_option("--most-seconds", arguments->timing.most_s, "of one measurement")->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--quick", arguments->quick, "without the thesis's own slow ways; ceilings from small transfers");
  command->callback([arguments] { run_front_ends(*arguments); });
}

}  // namespace nearfield::bench
