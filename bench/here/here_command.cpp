#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/here/here.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"

namespace nearfield::bench {
namespace {

/// Not known is EX_TEMPFAIL of sysexits: the next call finds what this one has compiled.
constexpr ExitCode kNotKnown = ExitCode::kHungFrame;
static_assert(static_cast<int>(kNotKnown) == 75);

struct HereArguments {
  HereOptions options;
  std::string device;
  bool as_json = false;
};

void run_here(const HereArguments& arguments) {
  const HereReport report = bench_here(arguments.options);
  if (arguments.as_json) {
    fmt::print("{}\n", to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", to_table(report));
  }
  if (!report.runs.front().measured()) {
    throw Error(kNotKnown, "bench --here: not measured");
  }
  if (!report.holds()) {
    throw Error(ExitCode::kDiffers, "bench --here: not held");
  }
}

}  // namespace

void add_here(CLI::App& bench) {
  auto arguments = std::make_shared<HereArguments>();
  CLI::App* command = bench.add_subcommand(
      "here", "Whether this machine holds a configuration of nearfieldd live, and if not, what would; also --here");
  command->add_option("-c,--config", arguments->options.config, "settings of nearfieldd, YAML (- is standard input)");
  command->add_option("--set", arguments->options.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--seconds", arguments->options.seconds, "the longest that it may take")
      ->capture_default_str()
      ->check(CLI::Range(2.0, 3600.0));
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_flag("--json", arguments->as_json, "print one JSON object");
  command->callback([arguments] {
    std::vector<std::string>& overrides = arguments->options.overrides;
    const std::vector<std::string> device = device_overrides(arguments->device);
    overrides.insert(overrides.begin(), device.begin(), device.end());
    run_here(*arguments);
  });
}

}  // namespace nearfield::bench
