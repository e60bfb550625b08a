#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "bench/common/files.hpp"
#include "bench/errors/errors.hpp"
#include "bench/front_ends/front_ends.hpp"
#include "bench/imager/imager.hpp"
#include "cli/bench_fidelity.hpp"
#include "cli/bench_frames.hpp"
#include "cli/bench_health.hpp"
#include "cli/command.hpp"
#include "cli/device_choice.hpp"
#include "config/config.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

struct Outputs {
  std::string json;
  std::string csv;
  std::string png;
  std::string device;
};

struct FrontEndArguments {
  Outputs outputs;
  std::string config;
  std::vector<std::string> overrides;
  std::vector<int> counts;
  bench::TimingOptions timing;
  bool quick = false;
};

struct ImagerArguments {
  std::string json;
  std::string device;
  std::string config;
  std::vector<std::string> overrides;
  bench::ImagerBenchOptions options;
};

struct ErrorArguments {
  Outputs outputs;
  bench::ErrorBenchOptions options;
  std::string scenes;
  bool without_curve = false;
};

void add_outputs(CLI::App& command, Outputs& outputs) {
  command.add_option("--json", outputs.json, "results as JSON");
  command.add_option("--csv", outputs.csv, "the figures as CSV");
  command.add_option("--png", outputs.png, "folder for plots or pictures");
  command.add_option("--device", outputs.device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
}

void show(const std::string& what) { spdlog::info("{}", what); }

void run_front_ends(const FrontEndArguments& arguments) {
  bench::FrontEndBenchOptions options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.outputs.device);
  options.counts = arguments.counts;
  options.timing = arguments.timing;
  options.quick = arguments.quick;
  options.with_slow = !arguments.quick;
  options.progress = show;
  const bench::FrontEndReport report = bench::bench_front_ends(options);
  fmt::print("{}", bench::to_table(report));
  if (!arguments.outputs.json.empty()) {
    bench::write_text(arguments.outputs.json, bench::to_json_text(report));
  }
  if (!arguments.outputs.csv.empty()) {
    bench::write_text(arguments.outputs.csv, bench::to_csv(report));
  }
  if (!arguments.outputs.png.empty()) {
    bench::write_plots(report, arguments.outputs.png);
  }
}

void run_imager(const ImagerArguments& arguments) {
  bench::ImagerBenchOptions options = arguments.options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.device);
  options.progress = show;
  const bench::ImagerReport report = bench::bench_imager(options);
  fmt::print("{}", bench::to_table(report));
  if (!arguments.json.empty()) {
    bench::write_text(arguments.json, bench::to_json_text(report));
  }
}

void run_errors(const ErrorArguments& arguments) {
  bench::ErrorBenchOptions options = arguments.options;
  choose_device(options.device, arguments.outputs.device);
  options.scenes = arguments.scenes;
  options.with_curve = !arguments.without_curve;
  options.progress = show;
  const bench::ErrorReport report = bench::bench_errors(options);
  fmt::print("{}", bench::to_table(report));
  if (!arguments.outputs.json.empty()) {
    bench::write_text(arguments.outputs.json, bench::to_json_text(report));
  }
  if (!arguments.outputs.csv.empty()) {
    bench::write_text(arguments.outputs.csv, bench::to_csv(report));
  }
  if (!arguments.outputs.png.empty()) {
    bench::write_pictures(report, arguments.outputs.png);
  }
}

void add_front_ends(CLI::App& bench) {
  auto arguments = std::make_shared<FrontEndArguments>();
  CLI::App* command = bench.add_subcommand("frontends", "What every front end takes on this device");
  add_outputs(*command, arguments->outputs);
  command->add_option("-c,--config", arguments->config, "settings, YAML: array, window and hop; all else is walked");
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

void add_imager(CLI::App& bench) {
  auto arguments = std::make_shared<ImagerArguments>();
  bench::ImagerBenchOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand("imager", "What images take from spectra on this device, by each path");
  command->add_option("--json", arguments->json, "results as JSON");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("-c,--config", arguments->config, "settings, YAML: array, medium and holography");
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

void add_errors(CLI::App& bench) {
  auto arguments = std::make_shared<ErrorArguments>();
  CLI::App* command = bench.add_subcommand("errors", "How exact every front end's holograms are, on simulated scenes");
  add_outputs(*command, arguments->outputs);
  command->add_option("--scenes", arguments->scenes, "folder of bench_*.yaml instead of the built-in scenes");
  command
      ->add_option("--only", arguments->options.only,
                   "parts whose name holds this: D1 to D4, spectra, offset; such as D1,D3")
      ->delimiter(',');
  command
      ->add_option("--level", arguments->options.levels_dbfs,
                   "of the scenes, dBFS rms over the aperture, such as -32,-46")
      ->delimiter(',');
  command->add_option("--order", arguments->options.orders, "of the modulators: 2, 4 or 2,4")
      ->delimiter(',')
      ->check(CLI::IsMember({2, 4}));
  command->add_flag("--slow", arguments->options.with_slow, "also the thesis's own slow ways");
  command->add_flag("--no-curve", arguments->without_curve, "without the curve over Walsh coefficients");
  command->callback([arguments] { run_errors(*arguments); });
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure this device: whole frames, front ends, imager, errors, fidelity, health");
  command->require_subcommand(0, 1);
  add_frames(*command);
  add_frames(*command->add_subcommand("frames", "What whole frames take, from bits to images; also without a name"));
  add_front_ends(*command);
  add_errors(*command);
  add_imager(*command);
  add_fidelity(*command);
  add_health(*command);
}

}  // namespace nearfield::cli
