#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "config/suggestion.hpp"
#include "control/service/command_line.hpp"
#include "nearfield/error.hpp"

namespace {

constexpr std::array kCommands = {
    nearfield::cli::add_simulate,   nearfield::cli::add_encode,    nearfield::cli::add_replay,
    nearfield::cli::add_compare,    nearfield::cli::add_inspect,   nearfield::cli::add_devices,
    nearfield::cli::add_bench,      nearfield::cli::add_send,      nearfield::cli::add_tap,
    nearfield::cli::add_convert,    nearfield::cli::add_ctl,       nearfield::cli::add_points,
    nearfield::cli::add_calibrate,  nearfield::cli::add_settings,  nearfield::cli::add_pictures,
    nearfield::cli::add_csm,        nearfield::cli::add_templates, nearfield::cli::add_sections,
    nearfield::cli::add_beampattern};

/// CLI11 alone would call a misspelt command a surplus argument.
void require_known_command(const CLI::App& app, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || first.front() == '-') {
    return;
  }
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), first) == names.end()) {
    nearfield::Suggestion suggestion(first);
    for (const std::string& name : names) {
      suggestion.offer(name, name);
    }
    throw nearfield::UsageError(
        fmt::format("expected a command, one of {}; found \"{}\"{}", fmt::join(names, ", "), first,
                    suggestion.best().empty() ? "" : fmt::format("; did you mean {}?", suggestion.best())));
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Planar near-field acoustic holography: from one-bit microphones to pressure and velocity on a surface"};
  app.set_version_flag("--version", NEARFIELD_VERSION);
  app.require_subcommand(1);
  for (const auto& add : kCommands) {
    add(app);
  }
  require_known_command(app, argc, argv);
  return nearfield::control::parse_command_line(app, argc, argv, "nearfield");
}

}  // namespace

int main(int argc, char** argv) {
  return nearfield::control::run_program([&] { return run(argc, argv); });
}
