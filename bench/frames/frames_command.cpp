#include <fmt/format.h>

#include <memory>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/frames/frames.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"

namespace nearfield::bench {
namespace {

/// What a check against the reference ends with; sysexits.h has none for it.
constexpr auto kWrongImages = static_cast<ExitCode>(1);
/// Each hop has its own kernels, which PoCL compiles for seconds.
const std::vector<int> kQuickHops = {1, 32};

struct FrameArguments {
  Outputs outputs;
  std::string config;
  std::vector<std::string> overrides;
  std::vector<std::string> front_ends;
  FrameSweeps given{.counts = {},
                    .front_ends = {},
                    .planes = {},
                    .hops = {},
                    .batches = {},
                    .windows = {},
                    .rows = {},
                    .columns = {}};
  bool without_sweeps = false;
  bool without_thesis = false;
  FrameBenchOptions options;
};

/// The options that replace defaults.
template <class Values>
void choose(std::vector<Values>& usual, const std::vector<Values>& given, bool given_only) {
  if (given_only || !given.empty()) {
    usual = given;
  }
}

FrameSweeps sweeps_of(const FrameArguments& arguments) {
  const FrameSweeps& given = arguments.given;
  const bool only = arguments.without_sweeps;
  FrameSweeps sweeps;
  if (arguments.options.quick) {
    sweeps.hops = kQuickHops;
    sweeps.rows.clear();  // as each hop, and each front end again
    sweeps.columns.clear();
  }
  choose(sweeps.counts, given.counts, only);
  choose(sweeps.front_ends, arguments.front_ends, only);
  choose(sweeps.planes, given.planes, only);
  choose(sweeps.hops, given.hops, only);
  choose(sweeps.batches, given.batches, only);
  choose(sweeps.windows, given.windows, only);
  choose(sweeps.rows, given.rows, only);
  choose(sweeps.columns, given.columns, only);
  sweeps.crossed = given.crossed;
  sweeps.thesis = !arguments.without_thesis && !arguments.options.quick;
  return sweeps;
}

void run_frames(const FrameArguments& arguments) {
  require_outputs(arguments.outputs);
  FrameBenchOptions options = arguments.options;
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.outputs.device);
  options.sweeps = sweeps_of(arguments);
  options.progress = show_progress;
  const FrameReport report = bench_frames(options);
  write_outputs(report, arguments.outputs);
  if (report.sustained && !report.sustained->problem().empty()) {
    throw Error(kWrongImages, fmt::format("bench frames: {}", report.sustained->problem()));
  }
}

void add_sweeps(CLI::App& command, FrameArguments& arguments) {
  FrameSweeps& sweeps = arguments.given;
  const auto add = [&](const std::string& name, std::vector<int>& values, int most, const std::string& help) {
    command.add_option(name, values, help)->delimiter(',')->check(CLI::Range(1, most));
  };
  add("--n", sweeps.counts, 100000, "numbers of frequencies");
  add("--planes", sweeps.planes, 1000, "numbers of planes");
  add("--hops", sweeps.hops, 1000000, "hops, samples");
  add("--batches", sweeps.batches, 4096, "frames a launch");
  add("--windows", sweeps.windows, 1000000, "windows, samples");
  add("--rows", sweeps.rows, 4096, "rows of microphones");
  add("--columns", sweeps.columns, 4096, "columns of microphones");
  command.add_option("--front-ends", arguments.front_ends, "such as popcount,dot_product")
      ->delimiter(',')
      ->check(CLI::IsMember(kinds_from_the_default_on()));
  command.add_flag("--crossed", sweeps.crossed, "also every number of frequencies with every batch");
  command.add_flag("--no-thesis", arguments.without_thesis, "without the cases of the thesis's table and figures");
  command.add_flag("--no-sweeps", arguments.without_sweeps, "only the sweeps that are named here");
}

}  // namespace

void add_frames(CLI::App& command) {
  auto arguments = std::make_shared<FrameArguments>();
  FrameBenchOptions& options = arguments->options;
  add_outputs(command, arguments->outputs);
  command.add_option("-c,--config", arguments->config, "settings, YAML (- is standard input)");
  command.add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  add_sweeps(command, *arguments);
  command.add_option("--sustain", options.sustain_s, "seconds of a stream as fast as it is taken")
      ->check(CLI::Range(0.0, 86400.0));
  command.add_option("--in-flight", options.in_flight, "launches of the stream that are begun before one is finished")
      ->check(CLI::Range(1, 2));
  command.add_option("--repetitions", options.timing.repetitions, "launches that count")
      ->check(CLI::Range(1, 100000000));
  command.add_option("--warm-up", options.timing.warm_up, "launches before these")->check(CLI::Range(0, 1000000));
  command.add_option("--most-seconds", options.timing.most_s, "of one measurement")->check(CLI::Range(0.0, 3600.0));
  command.add_flag("--quick", options.quick,
                   "ceilings from small transfers, few hops, one array, no cases of the thesis");
  // Plain `bench` is this command too; what stands before a subcommand is not the subcommand's.
  command.parse_complete_callback([&command] {
    for (const CLI::Option* option : command.get_options()) {
      if (!command.get_subcommands().empty() && option->count() > 0) {
        throw UsageError(
            fmt::format("bench: {} goes behind {}", option->get_name(), command.get_subcommands().front()->get_name()));
      }
    }
  });
  command.callback([arguments, &command] {
    if (command.get_subcommands().empty()) {
      run_frames(*arguments);
    }
  });
}

}  // namespace nearfield::bench
