#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/paths.hpp"
#include "cli/progress.hpp"
#include "encode/sound_file.hpp"
#include "simulate/scene.hpp"

namespace nearfield::cli {
namespace {

struct SimulateArguments {
  std::string scene;
  std::string output;
};

void run(const SimulateArguments& arguments) {
  require_own_output(arguments.output, {arguments.scene});
  const Scene scene = load_scene(arguments.scene);
  SimulationReport report;
  {
    Progress progress("simulate");
    report = simulate_capture(scene, arguments.output, load_track, [&](double share) { progress.show(share); });
  }
  for (const std::string& warning : report.warnings) {
    spdlog::warn("{}", warning);
  }
  const ArrayGeometry& geometry = scene.measurement.geometry;
  fmt::print("{}: {} bit-times of {} x {} microphones\n", arguments.output, report.bit_times, geometry.rows,
             geometry.columns);
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand("simulate", "Make a capture of simulated sources, with the true field");
  command->add_option("scene", arguments->scene, "scene, YAML; config/scenes/ has examples")->required();
  command->add_option("-o,--output", arguments->output, "capture, HDF5")->required();
  command->callback([arguments] { run(*arguments); });
}

}  // namespace nearfield::cli
