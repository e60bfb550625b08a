#include "cli/command.hpp"
#include "cli/python.hpp"

namespace nearfield::cli {

void add_bridge(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bridge",
                                         "Send a daemon's results to Redis or MQTT, or store them: redis, mqtt, store; "
                                         "by the Python package nearfield, whose options "
                                         "docs/use/site.md and --help list");
  command->set_help_flag();  // the package handles all arguments, even --help
  command->prefix_command();
  command->callback(
      [command] { become_python({.command = "bridge", .module = "nearfield.bridge.__main__"}, command->remaining()); });
}

}  // namespace nearfield::cli
