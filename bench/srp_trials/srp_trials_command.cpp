#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/commands.hpp"
#include "bench/common/files.hpp"
#include "bench/common/outputs.hpp"
#include "bench/srp_trials/srp_trials.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "config/schema/subset.hpp"

namespace nearfield::bench {
namespace {

struct SrpTrialArguments {
  std::string device;
  std::string json;
  std::vector<std::string> cases = {"directions", "cylinder", "noise", "stream", "crossing", "times"};
  SrpTrialOptions options;
};

void run_srp_trials(const SrpTrialArguments& arguments) {
  DeviceSettings device_settings;
  choose_device(device_settings, arguments.device);
  const ocl::Device device = ocl::Device::open(device_settings);
  const SrpTrialOptions& options = arguments.options;
  const auto has = [&](const char* name) {
    return std::find(arguments.cases.begin(), arguments.cases.end(), name) != arguments.cases.end();
  };
  SrpTrialReport report = {.device = device.info(), .seed = options.seed};
  if (has("directions")) {
    report.directions = try_directions(device, options);
  }
  if (has("cylinder")) {
    report.cylinder = try_cylinder(device, options);
  }
  if (has("noise")) {
    report.noise.push_back(try_noise(device, options));
  }
  if (has("stream")) {
    report.stream.push_back(try_stream(device, options));
  }
  if (has("crossing")) {
    report.crossing.push_back(try_crossing(device, options));
  }
  if (has("times")) {
    report.times = time_cylinder(device, ocl::Device::open(device_settings, ocl::Profiling::kOn), options);
  }
  if (arguments.json != kStandardOutput) {
    fmt::print("{}", to_table(report));
  }
  write_json(arguments.json, arguments.json.empty() ? "" : to_json_text(report));
}

CLI::Validator array_name() {
  return {[](const std::string& text) {
            return schema::subset_of(text) ? "" : fmt::format("expected all, spiral N or grid RxC, found {}", text);
          },
          ""};
}

}  // namespace

void add_srp_trials(CLI::App& bench) {
  constexpr int kMost = 10'000'000;
  auto arguments = std::make_shared<SrpTrialArguments>();
  SrpTrialOptions& options = arguments->options;
  CLI::App* command = bench.add_subcommand("srp_trials", "How often and how well the processor srp_phat finds sources");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  add_json(*command, arguments->json);
  command->add_option("--cases", arguments->cases, "directions, cylinder, noise, stream, crossing, times")
      ->delimiter(',')
      ->check(CLI::IsMember({"directions", "cylinder", "noise", "stream", "crossing", "times"}));
  command->add_option("--draws", options.draws, "sources of each row of directions and cylinder")
      ->check(CLI::Range(1, kMost));
  command->add_option("--windows", options.frames, "windows of noise")->check(CLI::Range(1, kMost));
  command->add_option("--minutes", options.minutes, "of noise in overlapping windows, of stream")
      ->check(CLI::Range(0.001, 10000.0));
  command->add_option("--runs", options.runs, "pairs of sources that cross")->check(CLI::Range(1, kMost));
  command->add_option("--repetitions", options.repetitions, "windows of times, of which the least one counts")
      ->check(CLI::Range(1, kMost));
  command->add_option("--seed", options.seed, "of all random numbers");
  command->add_option("--arrays", options.arrays, "of directions: all, spiral N or grid RxC")
      ->delimiter(',')
      ->check(array_name());
  command->add_option("--snr", options.snrs_db, "of directions, dB at a microphone in the band")
      ->delimiter(',')
      ->check(CLI::Range(-100.0, 100.0));
  command->add_option("--pixels", options.pixels, "of cylinder and times: 3888, 97200, 388800")
      ->delimiter(',')
      ->check(CLI::IsMember({3888, 97200, 388800}));
  command->add_option("--microphones", options.microphones, "of times: 8, 16, 32")
      ->delimiter(',')
      ->check(CLI::Range(4, 128));  // of more there are too many pairs for the time domain
  command->callback([arguments] { run_srp_trials(*arguments); });
}

}  // namespace nearfield::bench
