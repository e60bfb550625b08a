#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/common/timing.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/product_values.hpp"
#include "processors/srp_phat/cut.hpp"
#include "processors/srp_phat/settings.hpp"
#include "simulate/random.hpp"

/// `nearfield bench srp_phat`: what maps of steered response power take, by ways to cut the kernels' work. Spectra are
/// noise of magnitude 1.
namespace nearfield::bench {
namespace {

constexpr double kMicro = 1e6;
constexpr double kSrpRate_hz = 46875.0;
constexpr double kSrpWindow_samples = 1024.0;
constexpr const char* kSrpStage = "bench";

struct SrpArguments {
  std::string device;
  std::string json;
  std::string config;
  std::vector<std::string> overrides;
  int pixels = 64;
  int bins = 77;
  bool is_far = false;
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
          const bool fits = tile_bins % cut.run == 0 && tile_bins % ways == 0 && group % ways == 0;
          if (device.is_gpu && fits && cut.local_bytes() <= device.local_memory_bytes) {
            cut.fit(plan);
            cuts.push_back(cut);
          }
        }
      }
    }
  }
  return cuts;
}

double median_us(const FrameTiming& timing, const std::string& stage) {
  const auto found = std::find_if(timing.stages.begin(), timing.stages.end(), [&](const StageTiming& one) {
    return one.stage.size() >= stage.size() && one.stage.substr(one.stage.size() - stage.size()) == stage;
  });
  return found == timing.stages.end() ? 0.0 : found->device_s.median * kMicro;
}

/// What a window took with one cut.
struct SrpRow {
  SrpCut cut;
  double map_us = 0.0;
  double refine_us = 0.0;
  double device_us = 0.0;
  double wall_us = 0.0;
  double error = 0.0;  ///< the largest, of the first cut's map, over that map's maximum
};

struct SrpReport {
  std::string device;
  std::size_t pixels = 0;
  std::size_t microphones = 0;
  std::size_t bins = 0;
  std::vector<SrpRow> rows;
};

std::string to_table(const SrpReport& report) {
  std::string text =
      fmt::format("{}: {} pixels, {} microphones, {} bins; medians in us; error: of the first cut's map\n",
                  report.device, report.pixels, report.microphones, report.bins);
  text += fmt::format("{:>7} {:>4} {:>9} {:>5} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "vectors", "run",
                      "tile_bins", "parts", "ways", "group", "srp_fd", "refine", "device", "wall", "error");
  for (const SrpRow& row : report.rows) {
    text += fmt::format("{:>7} {:>4} {:>9} {:>5} {:>5} {:>5} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1e}\n",
                        row.cut.vectors, row.cut.run, row.cut.tile_bins, row.cut.parts, row.cut.ways, row.cut.group,
                        row.map_us, row.refine_us, row.device_us, row.wall_us, row.error);
  }
  return text;
}

std::string to_json_text(const SrpReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SrpRow& row : report.rows) {
    rows.push_back({{"vectors", row.cut.vectors},
                    {"run", row.cut.run},
                    {"tile_bins", row.cut.tile_bins},
                    {"parts", row.cut.parts},
                    {"ways", row.cut.ways},
                    {"group", row.cut.group},
                    {"map_us", row.map_us},
                    {"refine_us", row.refine_us},
                    {"device_us", row.device_us},
                    {"wall_us", row.wall_us},
                    {"error", row.error}});
  }
  const nlohmann::json all = {{"benchmark", "srp_phat"}, {"device", report.device},
                              {"pixels", report.pixels}, {"microphones", report.microphones},
                              {"bins", report.bins},     {"cuts", std::move(rows)}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

double largest_error(const std::vector<float>& map, const std::vector<float>& expected) {
  double error = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(map[i]) - static_cast<double>(expected[i])));
  }
  return error / static_cast<double>(*std::max_element(expected.begin(), expected.end()));
}

void run_srp(const SrpArguments& arguments) {
  const SrpCase one(arguments);
  const ocl::Device device = ocl::Device::open(one.settings.device, ocl::Profiling::kOn);
  const SrpPlan plan(one.plan);
  const auto spectra = device.upload<std::complex<float>>(one.spectra(), kSrpStage);
  const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(kStatusWords), kSrpStage);
  SrpReport report = {.device = device.info().name,
                      .pixels = static_cast<std::size_t>(plan.pixels()),
                      .microphones = static_cast<std::size_t>(plan.channels()),
                      .bins = plan.bins.size(),
                      .rows = {}};
  std::vector<float> expected;
  for (const SrpCut& cut : cuts_of(arguments, device.info(), plan)) {
    const std::unique_ptr<Processor> processor = make_srp_phat(device, one.plan, cut);
    const FrameTiming timing = time_frames(
        device, arguments.timing,
        {.prepare = [] {}, .phases = {{"window", [&] { processor->enqueue(spectra, status, 1); }}}, .waits = false});
    const auto values = values_of<float>(processor->products(0)[1]);
    const std::vector<float> map(values.begin(), values.end());
    if (expected.empty()) {
      expected = map;
    }
    report.rows.push_back({.cut = cut,
                           .map_us = median_us(timing, "srp_fd"),
                           .refine_us = median_us(timing, "srp_refine"),
                           .device_us = timing.device_s.median * kMicro,
                           .wall_us = timing.wall_s.median * kMicro,
                           .error = largest_error(map, expected)});
    show_progress(fmt::format("{} of the cuts", report.rows.size()));
  }
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

}  // namespace

void add_srp_phat(CLI::App& bench) {
  auto arguments = std::make_shared<SrpArguments>();
  CLI::App* command = bench.add_subcommand("srp_phat", "What maps of steered response power take on this device");
  add_json(*command, arguments->json);
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input): array and medium");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--pixels", arguments->pixels, "along each axis of the grid")->check(CLI::Range(2, 2000));
  command->add_option("--bins", arguments->bins, "from 500 Hz on")->check(CLI::Range(1, 500));
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
