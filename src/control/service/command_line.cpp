#include "control/service/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "config/suggestion.hpp"
#include "nearfield/error.hpp"

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

void set_up_log() {
  auto log = spdlog::stderr_color_mt("nearfield");
  log->set_pattern("nearfield: %^%l%$: %v");
  spdlog::set_default_logger(std::move(log));
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program) {
  std::string name = program;
  const CLI::App* command = innermost(app, name);
  const std::vector<std::string> remaining = app.remaining(true);
  const std::string problem = remaining.empty() ? error.what() : surplus(*command, remaining);
  return fmt::format("{} ({} --help)", problem, name);
}

int parse_command_line(CLI::App& app, int argc, char** argv, const std::string& program) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return app.exit(request);  // --help and --version
  } catch (const CLI::ParseError& error) {
    throw UsageError(usage_problem(app, error, program));
  }
  return static_cast<int>(ExitCode::kOk);
}

int run_program(const std::function<int()>& program) {
  set_up_log();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to report, not a reason to die
  try {
    const int code = program();
    if (std::fflush(stdout) != 0) {
      spdlog::error("standard output: can't write");
      return static_cast<int>(ExitCode::kIo);
    }
    return code;
  } catch (const Error& error) {
    spdlog::error("{}", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
    return static_cast<int>(ExitCode::kInternal);
  } catch (const std::exception& error) {
    spdlog::error("internal error: {}", error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
}

}  // namespace nearfield::control
