#include "pipeline/calibration/calibrate.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>

#include "cli/command.hpp"
#include "config/config.hpp"
#include "config/device_choice.hpp"
#include "core/error.hpp"

namespace nearfield::cli {
namespace {

struct CalibrateArguments {
  std::vector<std::string> inputs;
  std::string config;
  std::vector<std::string> overrides;
  std::string output;
  std::string device;
  std::vector<double> source_m;
  std::vector<double> direction_deg;
  std::string channels;
  double level_db = 94.0;
  std::string start;
};

/// Parses "auto", or "3,17": a number for each recording.
std::vector<int> channels_of(const std::string& text) {
  std::vector<int> channels;
  if (text == "auto") {
    return channels;
  }
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int channel = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), channel);
    if (error != std::errc() || end != part.data() + part.size()) {
      throw UsageError(fmt::format("--channel: expected auto or numbers of microphones, found \"{}\"", text));
    }
    channels.push_back(channel);
  }
  return channels;
}

CalibrateOptions options_of(const CalibrateArguments& arguments) {
  CalibrateOptions options;
  options.inputs.assign(arguments.inputs.begin(), arguments.inputs.end());
  options.settings = load_settings(arguments.config, arguments.overrides);
  choose_device(options.settings.device, arguments.device);
  if (!arguments.source_m.empty()) {
    options.field.source = {arguments.source_m[0], arguments.source_m[1], arguments.source_m[2]};
    if (!(options.field.source->z_m < options.settings.holography.standoff_m)) {
      throw UsageError(fmt::format("--source: expected a z below the microphones at {} m, found {} m",
                                   options.settings.holography.standoff_m, options.field.source->z_m));
    }
  }
  if (!arguments.direction_deg.empty()) {
    options.field.azimuth_deg = arguments.direction_deg[0];
    options.field.elevation_deg = arguments.direction_deg[1];
  }
  if (!arguments.channels.empty()) {
    constexpr double kReference_pa = 20e-6;
    options.calibrator = {.pressure_pa = kReference_pa * std::pow(10.0, arguments.level_db / 20.0),
                          .channels = channels_of(arguments.channels),
                          .start = arguments.start};
  } else if (!arguments.start.empty()) {
    throw UsageError("--start: goes with --channel");
  }
  return options;
}

void run(const CalibrateArguments& arguments) {
  std::vector<std::string> used = arguments.inputs;
  used.insert(used.end(), {arguments.config, arguments.start});
  require_own_output(arguments.output, used);
  const CalibrateOptions options = options_of(arguments);
  const CalibrationResult result = calibrate(options);
  write_calibration(arguments.output, result.calibration);
  const Calibration& calibration = result.calibration;
  for (const std::string& remark : result.remarks) {
    spdlog::warn("{}", remark);
  }
  const bool by_calibrator = !arguments.channels.empty();
  for (const int channel : by_calibrator ? std::vector<int>() : result.failed) {
    const auto at = static_cast<std::size_t>(channel);
    spdlog::warn("microphone {} (row {}, column {}) has no gain: coherence {:.3f}, relative error {:.2g} at {:.1f} Hz",
                 channel, channel / calibration.geometry.columns, channel % calibration.geometry.columns,
                 result.quality[at].coherence, result.quality[at].relative_error, calibration.frequencies_hz.front());
  }
  fmt::print("{}: {} microphones at {} frequenc{} from {} frames, {} without a gain, largest standard error {:.2g} %\n",
             arguments.output, calibration.geometry.channels(), calibration.frequencies_hz.size(),
             calibration.frequencies_hz.size() == 1 ? "y" : "ies", result.frames, result.failed.size(),
             100.0 * result.largest_error);
  if (by_calibrator) {
    fmt::print("the calibrator was over {} microphones\n", result.reached);
  }
  const auto with_gain = calibration.geometry.channels() - static_cast<int>(result.failed.size());
  ArraySettings array = options.settings.array;
  array.geometry = calibration.geometry;
  if (const std::string flaw = flaw_of_valid(array, with_gain); !flaw.empty()) {
    throw DataError(fmt::format(
        "{}: written, but nothing can be imaged with it: {} with a gain; {}", arguments.output, flaw,
        by_calibrator
            ? "put the calibrator over the others too, and name this file or another calibration of the array "
              "with --start"
            : "calibrate in a stronger field, or nearer to the array"));
  }
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command = app.add_subcommand("calibrate", "Find each microphone's gain from a recording of a known field");
  command
      ->add_option(
          "input", arguments->inputs,
          "captures, time data or spectra, HDF5, or recordings of bits (.nfr); their windows are taken together")
      ->required();
  command->add_option("-c,--config", arguments->config,
                      "settings, YAML (- is standard input); front_end.frequencies_hz are calibrated");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("-o,--output", arguments->output, "calibration, HDF5: array.calibration")->required();
  auto* source = command
                     ->add_option("--source", arguments->source_m,
                                  "X,Y,Z of a point source in m, in the axes of images; without it a plane wave")
                     ->delimiter(',')
                     ->expected(3);
  auto* direction =
      command
          ->add_option(
              "--direction", arguments->direction_deg,
              "AZIMUTH,ELEVATION in degrees that a plane wave comes from, towards +x and +y; 0,0: straight ahead")
          ->delimiter(',')
          ->expected(2)
          ->excludes(source);
  command
      ->add_option("--channel", arguments->channels,
                   "a calibrator instead of a field: the microphone it is over in each recording (17, or 17,18,19), or "
                   "auto: window by window the loudest")
      ->excludes(source)
      ->excludes(direction);
  command->add_option("--level-db", arguments->level_db, "of the calibrator, dB re 20 uPa rms")->capture_default_str();
  command->add_option("--start", arguments->start,
                      "with --channel: a calibration that has phases, other frequencies and other microphones already");
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
