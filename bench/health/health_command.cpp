#include <fmt/format.h>

#include <memory>

#include "bench/commands.hpp"
#include "bench/common/files.hpp"
#include "bench/common/outputs.hpp"
#include "bench/health/health.hpp"
#include "config/config.hpp"

namespace nearfield::bench {
namespace {

struct HealthArguments {
  std::string json;
  std::string config;
  std::vector<std::string> overrides;
  HealthBenchOptions options;
};

void run_health(const HealthArguments& arguments) {
  HealthBenchOptions options = arguments.options;
  const Settings settings = load_settings(arguments.config, arguments.overrides);
  options.geometry = settings.array.geometry;
  options.layout = settings.array.layout;
  const HealthReport report = bench_health(options);
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

}  // namespace

void add_health(CLI::App& bench) {
  auto arguments = std::make_shared<HealthArguments>();
  HealthBenchOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand("health", "What watching the microphones takes of this processor");
  add_json(*command, arguments->json);
  command->add_option("-c,--config", arguments->config, "settings, YAML (- is standard input): array");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--n", options.counts, "numbers of frequencies, 1 to 4, such as 1,4")
      ->delimiter(',')
      ->check(CLI::Range(1, 4));
  command->add_option("--repetitions", options.repetitions, "decisions, and blocks of bits, that count")
      ->check(CLI::Range(5, 1000000));
  command->callback([arguments] { run_health(*arguments); });
}

}  // namespace nearfield::bench
