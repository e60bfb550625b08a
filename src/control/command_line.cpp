#include "control/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "config/suggestion.hpp"

namespace nearfield::control {
namespace {

/// The innermost command that was typed, and its name behind the program's: "nearfield ctl record".
const CLI::App* innermost(const CLI::App& app, std::string& name) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return command;
}

/// The option of the command that a misspelt one is nearest to; empty when none is near.
std::string nearest_option(const CLI::App& command, const std::string& misspelt) {
  Suggestion suggestion(misspelt);
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      suggestion.offer("--" + name, "--" + name);
    }
  }
  return suggestion.best();
}

std::string surplus(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::string message =
      fmt::format("unexpected argument{} {}", arguments.size() == 1 ? "" : "s", fmt::join(arguments, " "));
  if (arguments.front().starts_with("--")) {
    message = fmt::format("{}: unknown option", arguments.front());
    const std::string nearest = nearest_option(command, arguments.front());
    message += nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
  }
  return message;
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program) {
  std::string name = program;
  const CLI::App* command = innermost(app, name);
  const std::vector<std::string> remaining = app.remaining(true);
  const std::string problem = remaining.empty() ? error.what() : surplus(*command, remaining);
  return fmt::format("{} ({} --help)", problem, name);
}

}  // namespace nearfield::control
