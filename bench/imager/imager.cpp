#include "bench/imager/imager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <memory>

#include "bench/commands.hpp"
#include "bench/common/figures.hpp"
#include "bench/common/outputs.hpp"
#include "bench/common/variants.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"
#include "core/numerics.hpp"
#include "imaging/pnah/staged_pnah.hpp"
#include "imaging/sonah/sonah.hpp"

namespace nearfield::bench {
namespace {

using ComplexF = std::complex<float>;

ImagePlan plan_of(const ImagerBenchOptions& options, int frequencies) {
  ImagePlan plan;
  plan.geometry = options.settings.array.geometry;
  plan.medium = options.settings.medium;
  plan.standoff_m = options.settings.holography.standoff_m;
  plan.holography = options.settings.holography;
  plan.holography.imager = ImagerKind::kPnah;
  plan.frequencies_hz = bin_frequencies(frequencies, options.settings.front_end.window_samples, kSampleRate_hz);
  plan.cutoff_rad_per_m = resolve_cutoffs(plan.holography, plan.medium, plan.geometry, plan.frequencies_hz);
  plan.dead_channels = options.settings.array.dead_channels;
  plan.batch = options.batch;
  return plan;
}

/// A monopole 6 cm below the array, elsewhere for every hologram, with noise 40 dB below.
std::vector<ComplexF> spectra_of(const ImagePlan& plan) {
  RandomStream random(1, 0);
  const auto uniform = [&] { return static_cast<double>(random.next() >> 11U) * 0x1p-53 - 0.5; };
  std::vector<ComplexF> spectra;
  for (std::size_t hologram = 0; hologram < plan.holograms(); ++hologram) {
    const double k = plan.wavenumber(hologram % plan.frequencies_hz.size());
    const double x_m = 0.2 * uniform();
    const double y_m = 0.2 * uniform();
    for (int row = 0; row < plan.geometry.rows; ++row) {
      for (int column = 0; column < plan.geometry.columns; ++column) {
        const double distance_m = std::hypot(plan.geometry.x_m(column) - x_m, plan.geometry.y_m(row) - y_m, 0.06);
        const std::complex<double> field = std::polar(1.0 / distance_m, -k * distance_m);
        spectra.emplace_back(field + kNoise / 0.3 * std::complex<double>(uniform(), uniform()));
      }
    }
  }
  return spectra;
}

double relative_difference(const std::vector<ComplexF>& found, const std::vector<ComplexF>& expected) {
  double error = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += std::norm(std::complex<double>(found[i]) - std::complex<double>(expected[i]));
    power += std::norm(std::complex<double>(expected[i]));
  }
  return std::sqrt(error / power);
}

std::string name_of(const FusedTuning& t) {
  return fmt::format("{} lanes, fit {}, columns {}/{}{}, rows {}/{}", t.lanes, t.fit_group, t.column_group,
                     t.column_tile, t.local_samples ? " local" : "", t.row_group, t.row_tile);
}

/// One count of frequencies: its plan, its spectra and what the first path made of them.
class ImagerBench {
 public:
  ImagerBench(const ocl::Device& device, const ImagerBenchOptions& options, int frequencies)
      : device_(device),
        timing_(options.timing),
        plan_(plan_of(options, frequencies)),
        spectra_(device.upload<ComplexF>(spectra_of(plan_), "bench/spectra")),
        status_(device.allocate<std::uint32_t>(to_size(plan_.batch) * kStatusWords, "bench/status")) {
    device.enqueue_fill(status_, std::uint32_t{0}, "bench/status");
  }
  [[nodiscard]] const ImagePlan& plan() const { return plan_; }
  ImagerRun measure(const std::string& name, const std::function<std::unique_ptr<Imager>()>& make) {
    ImagerRun run{.path = name, .description = {}, .frequencies = static_cast<int>(plan_.frequencies_hz.size())};
    try {
      const auto start = std::chrono::steady_clock::now();
      const std::unique_ptr<Imager> imager = make();
      imager->enqueue(spectra_, status_, to_size(plan_.batch));
      const std::vector<ComplexF> images = device_.download(imager->images(), "bench/images");
      run.plan_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      run.description = imager->description();
      if (expected_.empty()) {
        expected_ = images;
      }
      run.difference = relative_difference(images, expected_);
      run.timing = time_frames(
          device_, timing_,
          {.prepare = [] {}, .phases = {{kFrame, [&] { imager->enqueue(spectra_, status_, to_size(plan_.batch)); }}}});
      run.measured = true;
    } catch (const ConfigError& error) {
      run.description = error.what();
    } catch (const DeviceError& error) {
      run.description = error.what();
    }
    return run;
  }

 private:
  ocl::Device device_;
  TimingOptions timing_;
  ImagePlan plan_;
  ComplexBuffer spectra_;
  StatusBuffer status_;
  std::vector<ComplexF> expected_;
};

/// cos cos over the microphones, the same for every frequency: four plane waves.
std::vector<ComplexF> four_waves(const ImagePlan& plan) {
  constexpr double kKx_rad_per_m = 23.0;
  constexpr double kKy_rad_per_m = 18.0;
  std::vector<ComplexF> spectra;
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    for (int row = 0; row < plan.geometry.rows; ++row) {
      for (int column = 0; column < plan.geometry.columns; ++column) {
        spectra.emplace_back(static_cast<float>(std::cos(kKx_rad_per_m * plan.geometry.x_m(column)) *
                                                std::cos(kKy_rad_per_m * plan.geometry.y_m(row))));
      }
    }
  }
  return spectra;
}

}  // namespace

std::vector<FusedTuning> tunings_to_try(const ocl::DeviceInfo& device, const ImagePlan& plan) {
  const FusedTuning base = default_tuning(device, plan);
  std::vector<FusedTuning> tunings = {base};
  const auto add = [&](int fit_group, int column_group, int column_tile, bool local, int row_group, int row_tile) {
    FusedTuning tuning = base;
    tuning.fit_group = fit_group;
    tuning.local_samples = local;
    tuning.column_group = column_group;
    tuning.column_tile = column_tile;
    tuning.row_group = row_group;
    tuning.row_tile = row_tile;
    tunings.push_back(tuning);
  };
  if (device.is_gpu) {
    add(128, 64, 2, true, 32, 1);
    add(128, 64, 2, false, 32, 2);
    add(192, 128, 4, false, 32, 4);
    add(320, 128, 2, true, 64, 2);
    add(512, 128, 8, true, 128, 8);
    add(512, 192, 4, true, 96, 8);
    add(1024, 256, 4, true, 64, 1);
    add(256, 256, 8, true, 96, 4);
    return tunings;
  }
  for (const int lanes : {1, 4, 8}) {
    for (const int tile : {1, 2, 4}) {
      FusedTuning tuning = base;
      tuning.lanes = lanes;
      tuning.column_tile = tuning.row_tile = tile;
      tunings.push_back(tuning);
    }
  }
  return tunings;
}

ImagerReport bench_imager(const ImagerBenchOptions& options) {
  const ocl::Device device = ocl::Device::open(options.settings.device, ocl::Profiling::kOn);
  ImagerReport report;
  report.device = device.info();
  report.settings = options.settings;
  report.batch = options.batch;
  report.ceilings = measure_ceilings(device, true);
  const std::vector<int> counts = options.counts.empty() ? std::vector<int>{1, 5, 10, 20, 50, 100} : options.counts;
  for (const int count : counts) {
    ImagerBench bench(device, options, count);
    const ImagePlan& plan = bench.plan();
    const auto add = [&](const std::string& name, const std::function<std::unique_ptr<Imager>()>& make) {
      if (options.progress) {
        options.progress(fmt::format("{}, n = {}", name, count));
      }
      report.runs.push_back(bench.measure(name, make));
    };
    add("clfft", [&] { return std::make_unique<StagedPnah>(device, plan); });
    if (const std::string obstacle = obstacle_to_fusing(device.info(), plan); !obstacle.empty()) {
      report.runs.push_back({.path = "fused", .description = "cannot do " + obstacle, .frequencies = count});
      continue;
    }
    ImagePlan other = plan;
    other.holography.imager = ImagerKind::kSonah;
    add("sonah", [&] { return std::make_unique<Sonah>(device, other); });
    add("sonah_waves", [&] {
      auto sonah = std::make_unique<Sonah>(device, other);
      sonah->adopt(sonah->make_search()->search(four_waves(other), {}));
      return sonah;
    });
    other.holography.search_every_frames = 0;
    add("sonah_no_search", [&] { return std::make_unique<Sonah>(device, other); });
    const std::vector<FusedTuning> tunings = tunings_to_try(device.info(), plan);
    for (std::size_t i = 0; i < (options.sweep ? tunings.size() : 1); ++i) {
      add(i == 0 ? "fused" : name_of(tunings[i]),
          [&] { return std::make_unique<FusedPnah>(device, plan, tunings[i]); });
    }
  }
  return report;
}

std::string to_table(const ImagerReport& report) {
  const ArrayGeometry& geometry = report.settings.array.geometry;
  std::string text = fmt::format(
      "{} ({}, driver {}), {} x {} microphones, {} planes, {} frames a launch\n"
      "kernel and wait {:.1f} us, each further kernel {:.1f} us; below, us a launch\n\n"
      "{:>4}  {:<54}{:>9}{:>10}{:>10}{:>10}{:>10}{:>12}{:>9}\n",
      report.device.name, report.device.platform, report.device.driver, geometry.rows, geometry.columns,
      report.settings.holography.planes_m.size(), report.batch, report.ceilings.launch_and_wait_s * kMicro,
      report.ceilings.further_launch_s * kMicro, "n", "path", "device", "wall min", "median", "p99", "max",
      "difference", "plan s");
  for (const ImagerRun& run : report.runs) {
    if (!run.measured) {
      text += fmt::format("{:>4}  {:<54}  {}\n", run.frequencies, run.path, run.description);
      continue;
    }
    const Distribution& wall = run.timing.wall_s;
    text += fmt::format("{:>4}  {:<54}{:>9.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{:>12.1e}{:>9.2f}\n", run.frequencies,
                        run.path, run.timing.device_s.median * kMicro, wall.minimum * kMicro, wall.median * kMicro,
                        wall.p99 * kMicro, wall.maximum * kMicro, run.difference, run.plan_s);
    for (const StageTiming& stage : run.timing.stages) {
      text += fmt::format("{:>4}    {:<52}{:>9.1f}\n", "", stage.stage, stage.device_s.median * kMicro);
    }
  }
  return text;
}

std::string to_json_text(const ImagerReport& report) {
  nlohmann::ordered_json json = report_head("imager", report.device);
  json["rows"] = report.settings.array.geometry.rows;
  json["columns"] = report.settings.array.geometry.columns;
  json["planes"] = report.settings.holography.planes_m.size();
  json["batch"] = report.batch;
  json["ceilings"] = to_json(report.ceilings);
  json["runs"] = nlohmann::ordered_json::array();
  for (const ImagerRun& run : report.runs) {
    nlohmann::ordered_json entry = {
        {"path", run.path}, {"description", run.description}, {"frequencies", run.frequencies}};
    if (run.measured) {
      entry["plan_s"] = run.plan_s;
      entry["difference"] = run.difference;
      entry["wall_s"] = to_json(run.timing.wall_s);
      entry["device_s"] = to_json(run.timing.device_s);
      for (const StageTiming& stage : run.timing.stages) {
        entry["stages"].push_back(
            {{"stage", stage.stage}, {"commands", stage.commands}, {"device_s", to_json(stage.device_s)}});
      }
    }
    json["runs"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

namespace {

struct ImagerArguments {
  std::string json;
  std::string device;
  std::string config;
  std::vector<std::string> overrides;
  ImagerBenchOptions options;
};

void run_imager(const ImagerArguments& arguments) {
  ImagerBenchOptions options = arguments.options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.device);
  options.progress = show_progress;
  const ImagerReport report = bench_imager(options);
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

}  // namespace

void add_imager(CLI::App& bench) {
  auto arguments = std::make_shared<ImagerArguments>();
  ImagerBenchOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand("imager", "What images take from spectra on this device, by each path");
  add_json(*command, arguments->json);
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input): array, medium and holography");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--n", options.counts, "numbers of frequencies, such as 1,5,10")->delimiter(',');
  command->add_option("--batch", options.batch, "frames a launch")->check(CLI::Range(1, 4096));
  command->add_option("--repetitions", options.timing.repetitions, "launches that count")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--warm-up", options.timing.warm_up, "launches before these")->check(CLI::Range(0, 1000000));
  command->add_option("--most-seconds", options.timing.most_s, "of one measurement")->check(CLI::Range(0.0, 3600.0));
  command->add_flag("--sweep", options.sweep, "also other sizes of the fused kernels' groups and tiles");
  command->callback([arguments] { run_imager(*arguments); });
}

}  // namespace nearfield::bench
