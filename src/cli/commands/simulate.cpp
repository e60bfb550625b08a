#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "encode/sound_file.hpp"
#include "simulate/scene.hpp"

namespace nearfield::cli {
namespace {

struct SimulateArguments {
  std::string scene;
  std::string output;
  std::string kind = "bits";
  double sample_rate_hz = kBitRateHz / 32;
};

SimulationReport simulate(const SimulateArguments& arguments, const Scene& scene, const ProgressCallback& show) {
  if (arguments.kind == "samples") {
    constexpr double kLowestRateHz = 1000.0;
    if (!(arguments.sample_rate_hz >= kLowestRateHz && arguments.sample_rate_hz <= kBitRateHz)) {
      throw UsageError(fmt::format("--sample-rate: expected {} to {} Hz, found {}", kLowestRateHz, kBitRateHz,
                                   arguments.sample_rate_hz));
    }
    return simulate_time_data(scene, arguments.output, arguments.sample_rate_hz, show);
  }
  return arguments.kind == "spectra" ? simulate_spectra(scene, arguments.output)
                                     : simulate_capture(scene, arguments.output, load_track, show);
}

/// Description of the file's content.
std::string content_of(const SimulateArguments& arguments, const SimulationReport& report) {
  return arguments.kind == "samples" ? fmt::format("{} samples at {:.10g} Hz", report.samples, arguments.sample_rate_hz)
         : arguments.kind == "spectra" ? "spectra"
                                       : fmt::format("{} bit-times", report.bit_times);
}

void run(const SimulateArguments& arguments) {
  require_own_output(arguments.output, {arguments.scene});
  const Scene scene = load_scene(arguments.scene);
  SimulationReport report;
  {
    Progress progress("simulate");
    report = simulate(arguments, scene, [&](double share) { progress.show(share); });
  }
  for (const std::string& note : report.notes) {
    spdlog::info("{}", note);
  }
  for (const std::string& warning : report.warnings) {
    spdlog::warn("{}", warning);
  }
  fmt::print("{}: {} of {} microphones\n", arguments.output, content_of(arguments, report),
             text_of_size(scene.measurement.geometry));
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand("simulate", "Make a recording of simulated sources, with the true field");
  command->add_option("scene", arguments->scene, "scene, YAML (- is standard input); config/scenes/ has examples")
      ->required();
  command->add_option("-o,--output", arguments->output, "capture, time data or spectra, HDF5")->required();
  command->add_option("--as", arguments->kind, "bits: a capture; samples: time data; spectra: one frame of the tones")
      ->check(CLI::IsMember({"bits", "samples", "spectra"}))
      ->capture_default_str();
  command->add_option("--sample-rate", arguments->sample_rate_hz, "of samples, Hz")->capture_default_str();
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
