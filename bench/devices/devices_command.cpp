#include <fmt/format.h>

#include <memory>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/devices/devices.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "engine/devices.hpp"

namespace nearfield::bench {
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
