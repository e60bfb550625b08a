#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace nearfield::control {

/// The problem of a command line, in one message with the command that prints its help: arguments that no option takes
/// come first, in the order in which they were typed and with the nearest option or command, because a missing option
/// is often a misspelt one. `program` is the name that the user typed.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program);

/// Parses a command line, which runs the command that it names; every command gets -v and -q besides its own options.
/// Returns the exit code, also for --help, --version and the hidden --describe-cli, which prints
/// all commands and options as JSON. Throws UsageError with usage_problem(), and what the command throws; a UsageError
/// then names the command that prints its help.
int parse_command_line(CLI::App& app, int argc, char** argv, const std::string& program);

/// Prints the help of the command named by `words`, or of the program if they are empty. Throws UsageError if there is
/// no such command.
void print_help(const CLI::App& app, const std::string& program, const std::vector<std::string>& words);

/// Runs a command-line program and returns its exit code. Messages go to stderr as plain lines, because stdout is for
/// results; an error is one message, after the program's name, and its exit code.
int run_program(const std::function<int()>& program, const std::string& name = "nearfield");

}  // namespace nearfield::control
