#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace nearfield::control {

/// Description of a program's command line for cmake/make_manual.py, which makes man pages, completions and
/// docs/reference/cli.md from it. An object with `name`, `about`, `footer`, `options`, `commands` (each such an object
/// again), and at the top also `version` and `exit_codes`. An option has `names` ("-o", "--output"; for an argument
/// without dashes its name), `positional`, `value` (empty for a flag), `optional_value`, `choices`, `range`, `default`,
/// `required`, `repeats`, `excludes`, `needs` and `about`. Options and commands without a group are hidden, like in
/// --help.
nlohmann::ordered_json describe_command_line(CLI::App& app, const std::string& program);

}  // namespace nearfield::control
