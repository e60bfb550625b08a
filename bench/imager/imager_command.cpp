#include <fmt/format.h>

#include <memory>

#include "bench/commands.hpp"
#include "bench/common/files.hpp"
#include "bench/common/outputs.hpp"
#include "bench/imager/imager.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"

namespace nearfield::bench {
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
