#include <memory>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/errors/errors.hpp"
#include "config/device_choice.hpp"

namespace nearfield::bench {
namespace {

struct ErrorArguments {
  Outputs outputs;
  ErrorBenchOptions options;
  std::string scenes;
  bool without_curve = false;
};

void run_errors(const ErrorArguments& arguments) {
  require_outputs(arguments.outputs);
  ErrorBenchOptions options = arguments.options;
  choose_device(options.device, arguments.outputs.device);
  options.scenes = arguments.scenes;
  options.with_curve = !arguments.without_curve;
  options.progress = show_progress;
  const ErrorReport report = bench_errors(options);
  write_outputs(report, arguments.outputs);
}

}  // namespace

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

}  // namespace nearfield::bench
