#pragma once
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name of CLI11
class App;
}

/// Commands that the Python package nearfield carries out.
namespace nearfield::cli {

struct PythonCommand {
  std::string command;  ///< its name
  std::string module;   ///< its function main() takes the arguments and returns the exit code
};

/// The command line in words that mean the same to the module: options with values as --NAME=VALUE, then the arguments
/// without a name behind "--"; no flags, such as --quiet.
std::vector<std::string> words_of(const CLI::App& command);

/// Replaces this process by Python, the program that NEARFIELD_PYTHON names, else python3 of PATH, running the module.
/// The package then calls this program as `nearfield`. If the module or one that it imports is missing, Python ends
/// with 66 and a line that says what to install. Throws NoInputError if there is no Python.
[[noreturn]] void become_python(const PythonCommand& command, std::vector<std::string> arguments);

}  // namespace nearfield::cli
