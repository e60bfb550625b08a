#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace nearfield::control {

/// What is wrong with a command line, in one message with the command that prints its help: arguments that no option
/// takes come first, in the order in which they were typed and with the option that is nearest, because an option that
/// is missing is often one that was misspelt. `program` is the name that the user typed.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program);

/// Parses a command line, which runs the command that it names. Returns the exit code, also of --help and --version.
/// Throws UsageError with usage_problem(), and what the command throws.
int parse_command_line(CLI::App& app, int argc, char** argv, const std::string& program);

/// Runs a command-line program and returns its exit code. Messages go to stderr as plain lines, because stdout is for
/// results; an error is one message and the exit code that belongs to it.
int run_program(const std::function<int()>& program);

}  // namespace nearfield::control
