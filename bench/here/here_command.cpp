#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/here/here.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

struct HereArguments {
  HereOptions options;
  bool as_json = false;
};

void run_here(const HereArguments& arguments) {
  const HereReport report = bench_here(arguments.options);
  if (arguments.as_json) {
    fmt::print("{}\n", to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", to_table(report));
  }
  if (!report.holds()) {
    throw Error(ExitCode::kDiffers,
                report.runs.front().measured() ? "bench --here: not held" : "bench --here: not measured");
  }
}

}  // namespace

void add_here(CLI::App& bench) {
  auto arguments = std::make_shared<HereArguments>();
  CLI::App* command = bench.add_subcommand(
      "here", "Whether this machine holds a configuration of nearfieldd live, and if not, what would; also --here");
  command->add_option("-c,--config", arguments->options.config, "settings of nearfieldd, YAML");
  command->add_option("--set", arguments->options.overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--seconds", arguments->options.seconds, "the longest that it may take")
      ->capture_default_str()
      ->check(CLI::Range(2.0, 3600.0));
  command->add_flag("--json", arguments->as_json, "print one JSON object");
  command->callback([arguments] { run_here(*arguments); });
}

}  // namespace nearfield::bench
