#pragma once
#include <string>
#include <vector>

/// Commands that the Python package nearfield carries out.
namespace nearfield::cli {

struct PythonCommand {
  std::string command;  ///< its name
  std::string module;   ///< whose function main() takes the arguments and returns the exit code
  std::string install;  ///< command that installs the module
};

/// Goes on as Python, the program that NEARFIELD_PYTHON names, else python3 of PATH. Where the package
/// calls `nearfield`, it calls this program. Ends with 66, and a line that says what to
/// install, where the module or one that it needs is missing. Throws NoInputError where there is no Python.
[[noreturn]] void become_python(const PythonCommand& command, std::vector<std::string> arguments);

}  // namespace nearfield::cli
