#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/frame_needs.hpp"
#include "bench/common/outputs.hpp"
#include "bench/common/timing.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/numerics.hpp"
#include "core/product.hpp"
#include "processors/srp_phat/cut.hpp"
#include "processors/srp_phat/settings.hpp"

/// `nearfield bench srp_phat`: what maps of steered response power take, by ways to cut the kernels' work. Spectra are
/// noise of magnitude 1.
namespace nearfield::bench {
namespace {

constexpr double kSrpRate_hz = 46875.0;
constexpr double kSrpWindow_samples = 1024.0;
constexpr const char* kSrpStage = "bench";

struct SrpArguments {
  std::string device;
  std::string config;
  std::vector<std::string> overrides;
  int pixels = 64;
  int bins = 77;
  bool is_far = false;
  std::string domain = "frequency";
  std::string json;
  std::vector<std::size_t> vectors = {1, 2, 4};
  std::vector<std::size_t> tile_bins = {8, 16, 32};
  std::vector<std::size_t> ways = {1, 4, 8, 16};
  std::vector<std::size_t> groups = {256};
  TimingOptions timing;
};

/// The plan's settings, which live as long as it does.
struct SrpCase {
  explicit SrpCase(const SrpArguments& arguments) : settings(load_settings(arguments.config, arguments.overrides)) {
    choose_device(settings.device, arguments.device);
    own.band_hz = {1.0, 1e6};
    own.domain = arguments.domain == "time" ? SrpDomain::kTime : SrpDomain::kFrequency;
    const double steps = (arguments.pixels - 1) * (1.0 + 1e-9);
    own.grid.step_m = (own.grid.x_m[1] - own.grid.x_m[0]) / steps;
    if (arguments.is_far) {
      own.grid.kind = far_field::GridKind::kAngles;
      own.grid.distance_m = {far_field::kInfinitelyFar};
      own.grid.step_deg = (own.grid.azimuth_deg[1] - own.grid.azimuth_deg[0]) / steps;
    }
    plan.name = "bench";
    plan.settings = &settings;
    plan.own = &own;
    plan.sample_rate_hz = kSrpRate_hz;
    plan.array.geometry = settings.array.geometry;
    plan.array.medium = settings.medium;
    plan.array.standoff_m = settings.holography.standoff_m;
    constexpr int kFirstBin = 11;  // 500 Hz
    for (int bin = kFirstBin; bin < kFirstBin + arguments.bins; ++bin) {
      plan.array.frequencies_hz.push_back(bin * kSrpRate_hz / kSrpWindow_samples);
    }
    plan.frequencies_hz = plan.array.frequencies_hz;
  }
  [[nodiscard]] std::vector<std::complex<float>> spectra() const {
    constexpr double kTurn = 6.283185307179586;
    RandomStream random(1, 0);
    std::vector<std::complex<float>> values(plan.array.frequencies_hz.size() *
                                            static_cast<std::size_t>(plan.array.geometry.channels()));
    for (std::complex<float>& value : values) {
      value = std::complex<float>(std::polar(1.0, kTurn * 0x1p-53 * static_cast<double>(random.next() >> 11U)));
    }
    return values;
  }
  Settings settings;
  SrpPhatSettings own;
  ProcessorPlan plan;
};

/// Cuts that a device of this kind may have, the one that it gets first.
std::vector<SrpCut> cuts_of(const SrpArguments& arguments, const ocl::DeviceInfo& device, const SrpPlan& plan) {
  std::vector<SrpCut> cuts = {SrpCut::for_device(device, plan)};
  for (const std::size_t vectors : arguments.vectors) {
    for (const std::size_t tile_bins : arguments.tile_bins) {
      for (const std::size_t ways : arguments.ways) {
        for (const std::size_t group : arguments.groups) {
          SrpCut cut = SrpCut::of_groups();
          cut.vectors = vectors;
          cut.run = std::min(cut.run, tile_bins);
          cut.tile_bins = tile_bins;
          cut.ways = ways;
          cut.group = group;
          const bool can_be = device.is_gpu && !plan.is_time;  // the time domain has its own
          const bool fits = tile_bins % cut.run == 0 && tile_bins % ways == 0 && group % ways == 0;
          if (can_be && fits && cut.local_bytes() <= device.local_memory_bytes) {
            cut.fit(plan);
            cuts.push_back(cut);
          }
        }
      }
    }
  }
  return cuts;
}

double median_us(const FrameTiming& timing, const std::vector<std::string>& stages) {
  double sum_us = 0.0;
  for (const StageTiming& one : timing.stages) {
    const std::string name = one.stage.substr(one.stage.rfind('/') + 1);
    sum_us += std::find(stages.begin(), stages.end(), name) != stages.end() ? one.device_s.median * kMicro : 0.0;
  }
  return sum_us;
}

/// Times of a processor with one cut, and its least bytes and operations.
struct SrpRun {
  SrpCut cut;
  FrameTiming timing;
  std::vector<StageNeed> needs = {};  ///< needs in the order of timing.stages
  double error = 0.0;                 ///< largest distance from the first cut's map
};

double error_of(std::span<const float> map, const std::vector<float>& expected) {
  double error = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(map[i]) - static_cast<double>(expected[i])));
  }
  return error / static_cast<double>(*std::max_element(expected.begin(), expected.end()));
}

void print_cut(const SrpRun& run) {
  fmt::print("{:>7} {:>4} {:>9} {:>5} {:>5} {:>5} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1e}\n", run.cut.vectors,
             run.cut.run, run.cut.tile_bins, run.cut.parts, run.cut.ways, run.cut.group,
             median_us(run.timing, {"srp_fd", "srp_cross", "srp_lags", "srp_td"}),
             median_us(run.timing, {"srp_refine"}), run.timing.device_s.median * kMicro,
             run.timing.wall_s.median * kMicro, run.error);
}

/// Prints bytes and operations of each stage over their ceilings, for the device's own cut.
void print_bounds(const SrpRun& run, const Ceilings& ceilings) {
  fmt::print("\n{:<38} {:>8} {:>9} {:>9}\n", "stages of the first cut", "commands", "device", "bound");
  double sum_s = 0.0;
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    const double floor_s = stage_floor_s(stage, run.needs[i], ceilings);
    sum_s += floor_s;
    fmt::print("{:<38} {:>8.0f} {:>9.2f} {:>9.2f}\n", stage.stage, stage.commands, stage.device_s.median * kMicro,
               floor_s * kMicro);
  }
  fmt::print("{:<38} {:>8} {:>9.2f} {:>9.2f}\n", "all", "", run.timing.device_s.median * kMicro, sum_s * kMicro);
  fmt::print("launches and wait: {:.2f}\n", floors_of(run.timing, run.needs, ceilings).launches_s * kMicro);
}

nlohmann::ordered_json json_of(const SrpRun& run, const Ceilings& ceilings) {
  nlohmann::ordered_json json = {{"vectors", run.cut.vectors},
                                 {"run", run.cut.run},
                                 {"tile_bins", run.cut.tile_bins},
                                 {"parts", run.cut.parts},
                                 {"ways", run.cut.ways},
                                 {"group", run.cut.group},
                                 {"error", run.error},
                                 {"wall_s", to_json(run.timing.wall_s)},
                                 {"device_s", to_json(run.timing.device_s)}};
  json["launches_s"] = floors_of(run.timing, run.needs, ceilings).launches_s;
  json["stages"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < run.timing.stages.size(); ++i) {
    const StageTiming& stage = run.timing.stages[i];
    json["stages"].push_back({{"stage", stage.stage},
                              {"commands", stage.commands},
                              {"device_s", to_json(stage.device_s)},
                              {"bytes", run.needs[i].bytes},
                              {"operations", run.needs[i].operations},
                              {"bound_s", stage_floor_s(stage, run.needs[i], ceilings)}});
  }
  return json;
}

/// Adds what the stages need, which is the same for all cuts.
void add_needs(const ProcessorPlan& plan, SrpRun& run) {
  const WorkModel model = processor_entry("srp_phat").work(plan);
  for (const StageTiming& stage : run.timing.stages) {
    run.needs.push_back(need_of(stage.stage, model));
    run.needs.back().bytes = std::max(run.needs.back().bytes, stage.bytes);
  }
}

void write_report(const SrpArguments& arguments, const ocl::DeviceInfo& device, const SrpPlan& plan,
                  const std::vector<SrpRun>& runs, const Ceilings& ceilings) {
  nlohmann::ordered_json json = report_head("srp_phat", device);
  json["pixels"] = plan.pixels();
  json["microphones"] = plan.channels();
  json["bins"] = plan.bins.size();
  json["domain"] = plan.is_time ? "time" : "frequency";
  json["ceilings"] = to_json(ceilings);
  json["cuts"] = nlohmann::ordered_json::array();
  for (const SrpRun& run : runs) {
    json["cuts"].push_back(json_of(run, ceilings));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : json.dump(2) + "\n");
}

void run_srp(const SrpArguments& arguments) {
  const SrpCase one(arguments);
  const ocl::Device device = ocl::Device::open(one.settings.device, ocl::Profiling::kOn);
  const Ceilings ceilings = measure_ceilings(ocl::Device::open(one.settings.device), !device.info().is_gpu);
  const SrpPlan plan(one.plan);
  const auto spectra = device.upload<std::complex<float>>(one.spectra(), kSrpStage);
  const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), kSrpStage);
  const bool prints = arguments.json != kStandardOutput;
  if (prints) {
    fmt::print(
        "{}: {} pixels, {} microphones, {} bins, {} domain; medians in us; map: its sums; error: of the first cut's "
        "map\n{:>7} {:>4} {:>9} {:>5} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        device.info().name, plan.pixels(), plan.channels(), plan.bins.size(), plan.is_time ? "time" : "frequency",
        "vectors", "run", "tile_bins", "parts", "ways", "group", "map", "refine", "device", "wall", "error");
  }
  std::vector<float> expected;
  std::vector<SrpRun> runs;
  for (const SrpCut& cut : cuts_of(arguments, device.info(), plan)) {
    const std::unique_ptr<Processor> processor = make_srp_phat(device, one.plan, cut);
    SrpRun run = {.cut = cut,
                  .timing = time_frames(
                      device, arguments.timing,
                      {.prepare = [] {},
                       .phases = {{"window", [&] { processor->enqueue({.spectra = spectra, .status = status}); }}},
                       .waits = false})};
    const auto map = values_of<float>(processor->products({}).products[1]);
    if (expected.empty()) {
      expected.assign(map.begin(), map.end());
    }
    run.error = error_of(map, expected);
    add_needs(one.plan, run);
    if (prints) {
      print_cut(run);
    }
    runs.push_back(std::move(run));
  }
  if (prints) {
    print_bounds(runs.front(), ceilings);
  }
  write_report(arguments, device.info(), plan, runs, ceilings);
}

}  // namespace

void add_srp_phat(CLI::App& bench) {
  auto arguments = std::make_shared<SrpArguments>();
  CLI::App* command = bench.add_subcommand("srp_phat", "What maps of steered response power take on this device");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input): array and medium");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--pixels", arguments->pixels, "along each axis of the grid")->check(CLI::Range(2, 2000));
  command->add_option("--bins", arguments->bins, "from 500 Hz on")->check(CLI::Range(1, 500));
  command->add_option("--domain", arguments->domain, "frequency or time")->check(CLI::IsMember({"frequency", "time"}));
  add_json(*command, arguments->json);
  command->add_flag("--far", arguments->is_far, "directions of plane waves instead of a plane");
  const auto counts = [&](const char* name, std::vector<std::size_t>& values, const char* text) {
    command->add_option(name, values, text)->delimiter(',')->check(CLI::Range(1, 1024));
  };
  counts("--vectors", arguments->vectors, "pixels of a work-item, on GPUs");
  counts("--tile-bins", arguments->tile_bins, "bins of a work-item, multiples of 8, on GPUs");
  counts("--ways", arguments->ways, "in which a group shares microphones out, on GPUs");
  counts("--groups", arguments->groups, "items of a group, on GPUs");
  command->add_option("--repetitions", arguments->timing.repetitions, "windows that count")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--most-seconds", arguments->timing.most_s, "of one measurement")->check(CLI::Range(0.0, 3600.0));
  command->callback([arguments] { run_srp(*arguments); });
}

}  // namespace nearfield::bench
