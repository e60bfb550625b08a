#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace nearfield::control {

/// What is wrong with a command line, in one message with the command that prints its help: arguments that no option
/// takes come first, in the order in which they were typed and with the option that is nearest, because an option that
/// is missing is often one that was misspelt. `program` is the name that the user typed.
std::string usage_problem(const CLI::App& app, const CLI::ParseError& error, const std::string& program);

}  // namespace nearfield::control
