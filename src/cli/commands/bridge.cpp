#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kPython = "python3";

/// Starts the package's own command line; nothing is imported from the working directory.
constexpr const char* kStartBridge = R"(import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    from nearfield.bridge.__main__ import main
except ModuleNotFoundError as error:
    if (error.name or "").split(".")[0] != "nearfield":
        raise
    sys.exit(sys.stderr.write("nearfield: bridge: expected the Python package nearfield, which " + sys.executable +
                              " does not find; install python3-nearfield, or the wheel\n") and 66)
sys.exit(main(sys.argv[1:]))
)";

[[noreturn]] void become_bridge(std::vector<std::string> arguments) {
  std::array<std::string, 3> head = {kPython, "-c", kStartBridge};
  std::vector<char*> argv;
  for (std::string& word : head) {
    argv.push_back(word.data());
  }
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  execvp(kPython, argv.data());
  if (errno == ENOENT) {
    throw NoInputError(fmt::format("bridge: expected the program {} in a folder of PATH, found none", kPython));
  }
  throw IoError(fmt::format("bridge: can't start {}: {}", kPython, std::generic_category().message(errno)));
}

}  // namespace

void add_bridge(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bridge",
                                         "Send a daemon's results to Redis or MQTT, or store them: redis, mqtt, store; "
                                         "by the Python package nearfield, whose options "
                                         "docs/site.md and --help list");
  command->set_help_flag();  // the package handles all arguments, even --help
  command->prefix_command();
  command->callback([command] { become_bridge(command->remaining()); });
}

}  // namespace nearfield::cli
