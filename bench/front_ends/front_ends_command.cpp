#include <memory>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/front_ends/front_ends.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"

namespace nearfield::bench {
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
