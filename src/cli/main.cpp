#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "control/service/command_line.hpp"
#include "core/error.hpp"
#include "version/version.hpp"

namespace {

constexpr std::array kCommands = {
    nearfield::cli::add_simulate,    nearfield::cli::add_encode,    nearfield::cli::add_replay,
    nearfield::cli::add_compare,     nearfield::cli::add_inspect,   nearfield::cli::add_devices,
    nearfield::cli::add_bench,       nearfield::cli::add_send,      nearfield::cli::add_tap,
    nearfield::cli::add_convert,     nearfield::cli::add_ctl,       nearfield::cli::add_points,
    nearfield::cli::add_calibrate,   nearfield::cli::add_settings,  nearfield::cli::add_pictures,
    nearfield::cli::add_csm,         nearfield::cli::add_templates, nearfield::cli::add_sections,
    nearfield::cli::add_beampattern, nearfield::cli::add_page,      nearfield::cli::add_play,
    nearfield::cli::add_export,      nearfield::cli::add_report,    nearfield::cli::add_doctor,
    nearfield::cli::add_demo,        nearfield::cli::add_bridge,    nearfield::cli::add_masks};

constexpr const char* kProgram = "nearfield";

void add_help(CLI::App& app) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* help = app.add_subcommand("help", "Say how a command is used");
  help->add_option("command", *words, "which one, such as ctl record; without it all are listed");
  help->callback([&app, words] {
    if (!words->empty() && words->front() == nearfield::cli::kBench) {
      std::vector<std::string> of_bench(words->begin() + 1, words->end());
      of_bench.emplace_back("--help");
      nearfield::cli::become_bench(of_bench);
    }
    nearfield::control::print_help(app, kProgram, *words);
  });
}

void add_version(CLI::App& app) {
  app.add_subcommand("version", "Print the version, as --version does")->callback([&app] {
    fmt::print("{}\n", app.version());
  });
}

int run(int argc, char** argv) {
  CLI::App app{"Planar near-field acoustic holography: from one-bit microphones to pressure and velocity on a surface"};
  app.set_version_flag("--version", [] { return nearfield::version_text("nearfield"); });
  app.require_subcommand(1);
  for (const auto& add : kCommands) {
    add(app);
  }
  add_help(app);
  add_version(app);
  try {
    return nearfield::control::parse_command_line(app, argc, argv, kProgram);
  } catch (const nearfield::DeviceError& error) {
    // An OpenCL compiler that is running removes its files at SIGINT and reports that as an error.
    if (nearfield::cli::StopSignal::raised()) {
      spdlog::debug("{}", error.what());
      throw nearfield::Error(nearfield::ExitCode::kInterrupted, "stopped while programs were compiled");
    }
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return nearfield::control::run_program([&] { return run(argc, argv); });
}
