#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "bench/commands.hpp"
#include "bench/common/outputs.hpp"
#include "bench/frames/frames.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"

namespace nearfield::bench {
namespace {

/// Whose time other hops are held against.
constexpr double kUsualHop = 32.0;
constexpr const char* kStepSweeps[] = {"n", "planes", "batch", "window", "rows", "columns"};

SweepStep step_between(const FrameRun& from, const FrameRun& to) {
  SweepStep step{.sweep = from.what.sweep, .from = from.what.label, .to = to.what.label, .changes = {}};
  const double growth = to.timing.wall_s.median / from.timing.wall_s.median;
  step.ratio = std::max(growth * from.what.value / to.what.value, 1.0 / growth);
  if (from.front_end != to.front_end) {
    step.changes.emplace_back("front end");
  }
  if (from.imager != to.imager) {
    step.changes.emplace_back("imager");
  }
  return step;
}

}  // namespace

std::vector<HopCost> hop_costs(const std::vector<FrameRun>& runs) {
  std::vector<HopCost> costs;
  const std::vector<const FrameRun*> points = measured_runs(runs, "hop");
  const auto usual =
      std::find_if(points.begin(), points.end(), [](const FrameRun* run) { return run->what.value == kUsualHop; });
  if (usual == points.end()) {
    return costs;
  }
  for (const FrameRun* run : points) {
    const double allowed_s = (*usual)->frame_s() * std::max(run->what.value / kUsualHop, 1.0);
    costs.push_back({.hop_samples = static_cast<int>(run->what.value),
                     .frame_s = run->frame_s(),
                     .of_hop_32 = run->frame_s() / allowed_s});
  }
  return costs;
}

std::vector<SweepStep> sweep_steps(const std::vector<FrameRun>& runs) {
  std::vector<SweepStep> steps;
  for (const std::string_view sweep : kStepSweeps) {
    const std::vector<const FrameRun*> points = measured_runs(runs, sweep);
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (points[i]->what.value > points[i - 1]->what.value) {
        steps.push_back(step_between(*points[i - 1], *points[i]));
      }
    }
  }
  return steps;
}

std::vector<std::string> broken_rules(const std::vector<FrameRun>& runs) {
  std::vector<std::string> broken;
  for (const HopCost& cost : hop_costs(runs)) {
    if (cost.is_cliff()) {
      broken.push_back(fmt::format("hop {}: a frame takes {:.2f} times what hop 32 allows, at most {:.2f} are expected",
                                   cost.hop_samples, cost.of_hop_32, HopCost::kMostOfHop32));
    }
  }
  for (const SweepStep& step : sweep_steps(runs)) {
    if (step.breaks_rule()) {
      broken.push_back(fmt::format("{}, from {} to {}: a step of {:.2f}, at most {:.2f} is expected", step.sweep,
                                   step.from, step.to, step.ratio, SweepStep::kMostRatio));
    }
  }
  return broken;
}

namespace {

/// Exit code after images that differ from the reference's; sysexits.h has none for it.
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
    sweeps.rows.clear();  // each number of rows needs engines of its own
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
