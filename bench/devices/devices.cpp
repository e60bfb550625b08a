#include "bench/devices/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "bench/common/timing.hpp"
#include "bench/common/variants.hpp"
#include "bench/frames/sustained.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "engine/devices.hpp"
#include "engine/engine.hpp"
#include "engine/feeder.hpp"
#include "imaging/shared/image_plan.hpp"
#include "pipeline/replay.hpp"
#include "processors/images/settings.hpp"

namespace nearfield::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Images = std::vector<std::complex<float>>;

constexpr double kShortShare = 0.2;        ///< share of a measurement from which its number of frames is estimated
constexpr const char* kImages = "images";  ///< the product

/// A recording in memory: the bits of a pool, again and again.
class PoolRecording : public Recording {
 public:
  PoolRecording(const EnginePlan& plan, const BitPool& pool, std::uint64_t frames)
      : plan_(plan), pool_(pool), feed_(plan.settings.front_end) {
    const FrontEndSettings& front_end = plan.settings.front_end;
    const auto hop = static_cast<std::uint64_t>(front_end.hop_samples);
    info_.name = "bits in memory";
    info_.sample_rate_hz = plan.sample_rate_hz;
    info_.samples = (frames - 1) * hop + static_cast<std::uint64_t>(front_end.window_samples);
    info_.bits_per_sample = kBitsPerWord;
    info_.start_rate_hz = plan.sample_rate_hz * kBitsPerWord;
    feed_.begin(0);
  }
  [[nodiscard]] const InputInfo& info() const override { return info_; }
  [[nodiscard]] const EnginePlan& plan() const override { return plan_; }
  Batch begin(std::uint64_t first_sample, std::size_t windows, Engine& engine) override {
    const SampleSpan feed = feed_.next(first_sample, windows, engine);
    const std::span<std::uint32_t> room =
        engine.room_for_bits(static_cast<std::size_t>(feed.end - feed.first) * pool_.words_per_sample());
    pool_.copy(feed.first, room, engine.copying());
    engine.push_bits(feed.first, room);
    return engine.begin({.first_sample = first_sample, .windows = windows});
  }

 private:
  EnginePlan plan_;
  const BitPool& pool_;
  nearfield::Feeder feed_;
  InputInfo info_;
};

/// Sums the images of every frame, so that none can be skipped, in their order.
class SummingOutput : public Output {
 public:
  explicit SummingOutput(std::uint64_t& checksum) : checksum_(checksum) {}
  void begin(const ResultHeader& header, const Beginning& /*beginning*/) override {
    const auto images = std::find_if(header.products.begin(), header.products.end(),
                                     [](const Product& product) { return product.name == kImages; });
    at_ = static_cast<std::size_t>(images - header.products.begin());
  }
  void write(const Frame& frame) override {
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;
    checksum_ = checksum_ * kStep + checksum_of(values_of<std::complex<float>>(frame.products[at_]));
  }

 private:
  std::uint64_t& checksum_;
  std::size_t at_ = 0;
};

Settings on_device(Settings settings, const DeviceSettings& device) {
  settings.device.platform = device.platform;
  settings.device.index = device.index;
  return settings;
}

/// An engine that images the pool's stream as fast as it goes.
class StreamedEngine {
 public:
  StreamedEngine(const Settings& settings, const BitPool& pool)
      : plan_(bits_plan(settings)),
        recording_(plan_, pool, std::uint64_t{1} << 40U),
        engine_(make_engine(EngineKind::kOpencl, plan_)) {
    advance();
    for (std::size_t p = 0; p < engine_->processors(); ++p) {
      first_.push_back(images_of(p));
    }
  }
  double frames_per_s(double seconds) {
    const Clock::time_point start = Clock::now();
    std::uint64_t frames = 0;
    double elapsed_s = 0.0;
    do {
      advance();
      frames += batch();
      elapsed_s = seconds_since(start);
    } while (elapsed_s < seconds);
    return static_cast<double>(frames) / elapsed_s;
  }
  /// [processor] of the first window.
  [[nodiscard]] const std::vector<Images>& first_images() const { return first_; }

 private:
  [[nodiscard]] std::uint64_t batch() const { return static_cast<std::uint64_t>(plan_.settings.device.batch); }
  [[nodiscard]] Images images_of(std::size_t processor) {
    const std::vector<Product>& products = engine_->header(processor).products;
    const auto found =
        std::find_if(products.begin(), products.end(), [](const Product& one) { return one.name == kImages; });
    const Products of_window = engine_->read(batch_, processor, 0).products;
    const auto values = values_of<std::complex<float>>(of_window[static_cast<std::size_t>(found - products.begin())]);
    return {values.begin(), values.end()};
  }
  /// A batch, until its images are in the host's memory.
  void advance() {
    batch_ = recording_.compute(next_ * static_cast<std::uint64_t>(plan_.settings.front_end.hop_samples),
                                static_cast<std::size_t>(batch()), *engine_);
    next_ += batch();
  }

  EnginePlan plan_;
  PoolRecording recording_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t next_ = 0;
  FinishedBatch batch_;  ///< computed last
  std::vector<Images> first_;
};

// --- a replay dealt out ----------------------------------------------------------------------------------------------

struct TimedReplay {
  double frames_per_s = 0.0;
  std::uint64_t checksum = 0;
};

/// Engines are made before the clock runs.
TimedReplay time_replay(const DevicesBenchOptions& options, const Settings& settings, const BitPool& pool,
                        std::size_t devices, std::uint64_t frames) {
  std::vector<ReplayPart> parts;
  for (std::size_t i = 0; i < devices; ++i) {
    const EnginePlan plan = bits_plan(on_device(settings, options.devices[i]));
    parts.push_back({.recording = std::make_unique<PoolRecording>(plan, pool, frames),
                     .engine = make_engine(EngineKind::kOpencl, plan)});
  }
  TimedReplay timed;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<SummingOutput>(timed.checksum));
  ReplayOptions replayed;
  replayed.input = "bits in memory";
  replayed.block_hops = options.block_hops;
  replayed.is_unbounded_allowed = true;
  const Clock::time_point start = Clock::now();
  const ReplayResult result = replay(std::move(parts), replayed, outputs);
  timed.frames_per_s = static_cast<double>(result.frames) / seconds_since(start);
  return timed;
}

/// Number of frames that one device computes in that time, a multiple of the batch.
std::uint64_t frames_in(double seconds, const Settings& settings, const BitPool& pool) {
  const auto batch = static_cast<std::uint64_t>(settings.device.batch);
  const double frames_per_s = StreamedEngine(settings, pool).frames_per_s(kShortShare * seconds);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(frames_per_s * seconds) / batch, 4) * batch;
}

DevicesRun run_replay(const DevicesBenchOptions& options, const Settings& base, int batch) {
  Settings settings = base;
  settings.device.batch = batch;
  settings.array.health.enabled = false;  // random bits have no good microphones
  settings.holography.search_every_frames = 0;
  const BitPool pool(bits_plan(settings));
  DevicesRun run{.what = "replay",
                 .batch = batch,
                 .frequencies = static_cast<int>(settings.front_end.frequencies_hz.size()),
                 .planes = static_cast<int>(settings.holography.planes_m.size())};
  run.frames = frames_in(options.most_s, on_device(settings, options.devices.front()), pool);
  for (int round = 0; round < options.rounds; ++round) {
    const TimedReplay one = time_replay(options, settings, pool, 1, run.frames);
    const TimedReplay all = time_replay(options, settings, pool, options.devices.size(), run.frames);
    run.rounds.push_back({.one_per_s = one.frames_per_s, .all_per_s = all.frames_per_s});
    run.difference = one.checksum == all.checksum ? run.difference : std::numeric_limits<double>::infinity();
  }
  return run;
}

// --- frequencies split over devices ----------------------------------------------------------------------------------

/// [plane][frequency][pixel] of images whose frequencies lie in parts.
Images joined(const std::vector<Images>& parts, std::size_t planes) {
  Images images;
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (const Images& part : parts) {
      const std::size_t size = part.size() / planes;
      const auto begin = part.begin() + static_cast<std::ptrdiff_t>(plane * size);
      images.insert(images.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }
  return images;
}

double relative_l2(const Images& found, const Images& expected) {
  double error = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    error += std::norm(std::complex<double>(found[i]) - std::complex<double>(expected[i]));
    power += std::norm(std::complex<double>(expected[i]));
  }
  const double relative = std::sqrt(error / power);
  return found.size() == expected.size() && std::isfinite(relative) ? relative
                                                                    : std::numeric_limits<double>::infinity();
}

DevicesRun run_split(const DevicesBenchOptions& options, Settings settings, int batch) {
  settings = on_device(std::move(settings), options.devices.front());
  settings.device.batch = batch;
  settings.holography.search_every_frames = 0;
  std::vector<double>& planes_m = settings.holography.planes_m;
  while (static_cast<int>(planes_m.size()) < options.split_planes) {
    planes_m.push_back(planes_m.back() + kPlaneStep_m);
  }
  const BitPool pool(bits_plan(settings));
  StreamedEngine one(settings, pool);
  StreamedEngine all(split_over(settings, options.devices), pool);
  DevicesRun run{.what = "frequencies",
                 .batch = batch,
                 .frequencies = static_cast<int>(settings.front_end.frequencies_hz.size()),
                 .planes = static_cast<int>(planes_m.size())};
  run.difference = relative_l2(joined(all.first_images(), planes_m.size()), one.first_images().front());
  for (int round = 0; round < options.rounds; ++round) {
    const double one_per_s = one.frames_per_s(options.most_s);
    run.rounds.push_back({.one_per_s = one_per_s, .all_per_s = all.frames_per_s(options.most_s)});
  }
  return run;
}

/// On bins, where the user has not set any.
Settings with_frequencies(Settings settings, int count) {
  if (!settings.explicit_keys.contains("front_end.frequencies_hz")) {
    settings.front_end.frequencies_hz =
        bin_frequencies(count, settings.front_end.window_samples, bits_plan(settings).sample_rate_hz);
  }
  return settings;
}

void show(const DevicesBenchOptions& options, const std::string& what, int batch) {
  if (options.progress) {
    options.progress(fmt::format("{}: {} frames a launch", what, batch));
  }
}

}  // namespace

double DevicesRun::median_ratio() const {
  std::vector<double> ratios;
  for (const DevicesRound& round : rounds) {
    ratios.push_back(round.ratio());
  }
  return distribution(std::move(ratios)).median;
}

Settings split_over(const Settings& settings, const std::vector<DeviceSettings>& devices) {
  const std::vector<double>& all_hz = settings.front_end.frequencies_hz;
  const auto part_of = [&](std::size_t device) {
    const auto first = all_hz.begin() + static_cast<std::ptrdiff_t>(device * all_hz.size() / devices.size());
    const auto end = all_hz.begin() + static_cast<std::ptrdiff_t>((device + 1) * all_hz.size() / devices.size());
    return std::vector<double>(first, end);
  };
  Settings split = on_device(settings, devices.front());
  split.front_end.frequencies_hz = part_of(0);
  const ImagerKind imager =
      resolve_imager(settings.holography,
                     {.geometry = settings.array.geometry, .frequencies = all_hz.size(), .fft = settings.device.fft});
  split.holography.imager = imager;
  for (std::size_t i = 1; i < devices.size(); ++i) {
    auto images = std::make_unique<ImageKindSettings>(imager);
    images->images = settings.holography;
    images->images.imager = imager;
    ProcessorSettings processor;
    processor.name = fmt::format("part_{}", i + 1);
    processor.kind = name_of(imager);
    processor.device = fmt::format("{}:{}", devices[i].platform, devices[i].index);
    processor.front_end.frequencies_hz = part_of(i);
    processor.own = std::move(images);
    split.processors.push_back(std::move(processor));
  }
  return split;
}

DevicesReport bench_devices(const DevicesBenchOptions& options) {
  DevicesReport report;
  report.settings = options.settings;
  if (options.settings.holography.imager == ImagerKind::kNone) {
    throw ConfigError("holography.imager: expected one that makes images, found none");
  }
  for (const DeviceSettings& device : options.devices) {
    report.devices.push_back(ocl::find_device(device));
  }
  for (const int batch : options.replay_batches) {
    show(options, "a replay dealt out", batch);
    report.runs.push_back(run_replay(options, with_frequencies(options.settings, options.replay_count), batch));
  }
  for (const int batch : options.split_batches) {
    show(options, "frequencies split", batch);
    report.runs.push_back(run_split(options, with_frequencies(options.settings, options.split_count), batch));
  }
  return report;
}

std::string to_table(const DevicesReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const ocl::DeviceInfo& device = report.devices[i];
    text += fmt::format("{}{} ({}, driver {}), number {}\n", i == 0 ? "" : "and ", device.name, device.platform,
                        device.driver, device.number);
  }
  const Settings& settings = report.settings;
  text +=
      fmt::format("{} x {} microphones, window {}, hop {}; frames a second of the first device and of all, in turn\n\n",
                  settings.array.geometry.rows, settings.array.geometry.columns, settings.front_end.window_samples,
                  settings.front_end.hop_samples);
  text += fmt::format("{:<14}{:>6}{:>8}{:>7}{:>7}{:>12}{:>12}{:>8}{:>12}\n", "what", "n", "planes", "batch", "round",
                      "one", "all", "ratio", "difference");
  for (const DevicesRun& run : report.runs) {
    for (std::size_t i = 0; i < run.rounds.size(); ++i) {
      text += fmt::format("{:<14}{:>6}{:>8}{:>7}{:>7}{:>12.1f}{:>12.1f}{:>8.3f}\n", i == 0 ? run.what : "",
                          run.frequencies, run.planes, run.batch, i + 1, run.rounds[i].one_per_s,
                          run.rounds[i].all_per_s, run.rounds[i].ratio());
    }
    text += fmt::format("{:<14}{:>52}{:>8.3f}{:>12.2g}\n", "", "median", run.median_ratio(), run.difference);
  }
  return text;
}

std::string to_json_text(const DevicesReport& report) {
  nlohmann::ordered_json json = report_head("devices", report.devices.front());
  json["devices"] = report.devices.size();
  json["rows"] = report.settings.array.geometry.rows;
  json["columns"] = report.settings.array.geometry.columns;
  json["window_samples"] = report.settings.front_end.window_samples;
  json["hop_samples"] = report.settings.front_end.hop_samples;
  json["runs"] = nlohmann::ordered_json::array();
  for (const DevicesRun& run : report.runs) {
    nlohmann::ordered_json rounds = nlohmann::ordered_json::array();
    for (const DevicesRound& round : run.rounds) {
      rounds.push_back({{"one_per_s", round.one_per_s}, {"all_per_s", round.all_per_s}, {"ratio", round.ratio()}});
    }
    json["runs"].push_back({{"what", run.what},
                            {"frequencies", run.frequencies},
                            {"planes", run.planes},
                            {"batch", run.batch},
                            {"frames", run.frames},
                            {"rounds", std::move(rounds)},
                            {"median_ratio", run.median_ratio()},
                            {"difference", run.difference}});
  }
  return json.dump(2) + "\n";
}

namespace {

struct DevicesArguments {
  std::string json;
  std::string config;
  std::vector<std::string> overrides;
  std::vector<std::string> devices;
  bool are_unlike_allowed = false;
  DevicesBenchOptions options;
};

void run_devices(const DevicesArguments& arguments) {
  DevicesBenchOptions options = arguments.options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  if (arguments.devices.size() == 1) {
    throw UsageError(fmt::format("--devices: expected two or more, found {}", arguments.devices.front()));
  }
  options.devices = arguments.devices.empty()
                        ? choose_alike_devices(options.settings.device)
                        : choose_devices(options.settings.device, arguments.devices, arguments.are_unlike_allowed);
  options.progress = show_progress;
  const DevicesReport report = bench_devices(options);
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

}  // namespace

void add_devices(CLI::App& bench) {
  auto arguments = std::make_shared<DevicesArguments>();
  DevicesBenchOptions& options = arguments->options;
  CLI::App* command =
      bench.add_subcommand("devices", "What several devices make of one's work: a replay dealt out, frequencies split");
  add_json(*command, arguments->json);
  CLI::Option* const devices =
      command
          ->add_option("--devices", arguments->devices,
                       "two or more, such as 0,1, each as --device takes it; default: the first two that are alike")
          ->delimiter(',')
          ->allow_extra_args(false);
  command
      ->add_flag("--allow-unlike", arguments->are_unlike_allowed,
                 "accept devices whose frames may differ in the last bits")
      ->needs(devices);
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input)");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--n", options.split_count, "frequencies that are split")->check(CLI::Range(2, 1000));
  command->add_option("--planes", options.split_planes, "planes of these")->check(CLI::Range(1, 64));
  command->add_option("--replay-n", options.replay_count, "frequencies of the replay")->check(CLI::Range(1, 1000));
  command->add_option("--batches", options.replay_batches, "frames a launch of the replay, such as 1,32")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command->add_option("--split-batches", options.split_batches, "frames a launch of the split frequencies")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command->add_option("--rounds", options.rounds, "how often one device and all are measured in turn")
      ->check(CLI::Range(1, 100));
  command->add_option("--most-seconds", options.most_s, "of one measurement")->check(CLI::Range(0.001, 3600.0));
  command->callback([arguments] { run_devices(*arguments); });
}

}  // namespace nearfield::bench
