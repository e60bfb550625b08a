#include <fmt/format.h>

#include <memory>

#include "capture/files.hpp"
#include "cli/command.hpp"

namespace nearfield::cli {

void add_inspect(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("inspect", "Say what a file holds");
  command->add_option("file", *path, "any of Nearfield's HDF5 files, or a recording")->required();
  command->callback([path] { fmt::print("{}", describe_file(*path)); });
}

}  // namespace nearfield::cli
