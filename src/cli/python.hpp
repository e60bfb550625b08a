#pragma once
#include <string>
#include <vector>

/// Commands that the Python package nearfield carries out.
namespace nearfield::cli {

struct PythonCommand {
  std::string command;  ///< its name
  std::string module;   ///< its function main() takes the arguments and returns the exit code
};

/// Replaces this process by Python, the program that NEARFIELD_PYTHON names, else python3 of PATH, running the module.
/// The package then calls this program as `nearfield`. If the module or one that it imports is missing, Python ends
/// with 66 and a line that says what to install. Throws NoInputError if there is no Python.
[[noreturn]] void become_python(const PythonCommand& command, std::vector<std::string> arguments);

}  // namespace nearfield::cli
