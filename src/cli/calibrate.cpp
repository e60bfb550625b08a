#include "pipeline/calibrate.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/device_choice.hpp"
#include "cli/paths.hpp"
#include "config/config.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

struct Arguments {
  std::string input;
  std::string config;
  std::vector<std::string> overrides;
  std::string output;
  std::string device;
  std::vector<double> source_m;
  std::vector<double> direction_deg;
};

CalibrateOptions options_of(const Arguments& arguments) {
  CalibrateOptions options;
  options.input = arguments.input;
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
  return options;
}

void run(const Arguments& arguments) {
  require_own_output(arguments.output, {arguments.input, arguments.config});
  const CalibrationResult result = calibrate(options_of(arguments));
  write_calibration(arguments.output, result.calibration);
  const Calibration& calibration = result.calibration;
  for (const int channel : result.failed) {
    const auto at = static_cast<std::size_t>(channel);
    spdlog::warn("microphone {} (row {}, column {}) has no gain: coherence {:.3f}, relative error {:.2g} at {:.1f} Hz",
                 channel, channel / calibration.geometry.columns, channel % calibration.geometry.columns,
                 result.quality[at].coherence, result.quality[at].relative_error, calibration.frequencies_hz.front());
  }
  double worst = 0.0;
  for (std::size_t i = 0; i < result.quality.size(); ++i) {
    if (std::isfinite(calibration.gains[i].real())) {
      worst = std::max(worst, result.quality[i].relative_error);
    }
  }
  fmt::print("{}: {} microphones at {} frequenc{} from {} frames, {} without a gain, largest standard error {:.2g} %\n",
             arguments.output, calibration.geometry.channels(), calibration.frequencies_hz.size(),
             calibration.frequencies_hz.size() == 1 ? "y" : "ies", result.frames, result.failed.size(), 100.0 * worst);
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("calibrate", "Find each microphone's gain from a recording of a known field");
  command->add_option("input", arguments->input, "capture, time data or spectra, HDF5, or a recording of bits (.nfr)")
      ->required();
  command->add_option("-c,--config", arguments->config, "settings, YAML; front_end.frequencies_hz are calibrated");
  command->add_option("--set", arguments->overrides, "one setting, KEY=VALUE; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("-o,--output", arguments->output, "calibration, HDF5: array.calibration")->required();
  auto* source = command
                     ->add_option("--source", arguments->source_m,
                                  "X,Y,Z of a point source in m, in the axes of images; without it a plane wave")
                     ->delimiter(',')
                     ->expected(3);
  command
      ->add_option("--direction", arguments->direction_deg,
                   "AZIMUTH,ELEVATION in degrees that a plane wave comes from, towards +x and +y; 0,0: straight ahead")
      ->delimiter(',')
      ->expected(2)
      ->excludes(source);
  command->add_option("--device", arguments->device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
