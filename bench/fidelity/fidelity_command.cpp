#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "bench/commands.hpp"
#include "bench/common/files.hpp"
#include "bench/common/outputs.hpp"
#include "bench/fidelity/fidelity.hpp"
#include "config/device_choice.hpp"

namespace nearfield::bench {
namespace {

struct FidelityArguments {
  std::string json;
  std::string docs;
  std::string data;
  std::string device;
  FidelityOptions options;
};

void run_fidelity(const FidelityArguments& arguments) {
  std::vector<std::string> options_of_page;
  if (!arguments.docs.empty()) {
    options_of_page = {"--docs", arguments.docs};
  }
  require_report_program(options_of_page);
  FidelityOptions options = arguments.options;
  choose_device(options.device, arguments.device);
  options.data = arguments.data;
  options.progress = show_progress;
  const FidelityReport report = bench_fidelity(options);
  for (const std::string& what : report.left_out) {
    spdlog::warn("left out: {}", what);
  }
  const std::string json = to_json_text(report);
  write_json(arguments.json, json);
  if (arguments.json != kStandardOutput || !options_of_page.empty()) {
    run_report_program(json, options_of_page);
  }
}

}  // namespace

void add_fidelity(CLI::App& bench) {
  auto arguments = std::make_shared<FidelityArguments>();
  FidelityOptions& options = arguments->options;
  CLI::App* command =
      bench.add_subcommand("fidelity", "How close images come to the true field, by extrapolation and filter");
  command->add_option("--docs", arguments->docs,
                      "folder for results/fidelity.md and pictures/fidelity/; else the page is printed");
  command->add_option("--data", arguments->data, "folder of measured and computed fields with their truth");
  add_json(*command, arguments->json);
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->add_option("--draws", options.draws, "of noise")->check(CLI::Range(1, 1000));
  command->add_option("--bit-draws", options.bit_draws, "of noise and modulators")->check(CLI::Range(1, 1000));
  command->add_option("--scenes", options.scenes, "random ones of each kind")->check(CLI::Range(1, 1000));
  command->add_option("--snr", options.snrs_db, "signal-to-noise ratios, dB, such as 40,30")
      ->delimiter(',')
      ->check(CLI::Range(-20.0, 200.0));
  command->add_option("--parts", options.parts, "some of cases, standoffs, scenes, bits, kinds, data")->delimiter(',');
  command->add_option("--fields", options.fields, "those whose name holds one of these, such as pattern,violin")
      ->delimiter(',');
  command->callback([arguments] { run_fidelity(*arguments); });
}

}  // namespace nearfield::bench
