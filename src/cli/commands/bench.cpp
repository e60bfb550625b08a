#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "core/system/program_file.hpp"
#include "nearfield/error.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kProgram = "nearfield-bench";

/// Becomes the program beside this one, or else the one that PATH leads to. Returns only by throwing.
[[noreturn]] void become_bench(std::vector<std::string> arguments) {
  std::string name = kProgram;
  std::vector<char*> argv = {name.data()};
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  execvp(program_to_run(kProgram).c_str(), argv.data());
  if (errno == ENOENT) {
    throw NoInputError(
        fmt::format("bench: expected the program {} in {} or in a folder of PATH, found none; `./dev build` makes it",
                    kProgram, folder_of_this_program().string()));
  }
  throw IoError(fmt::format("bench: can't start {}: {}", kProgram, std::generic_category().message(errno)));
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure this device: whole frames, front ends, imager, errors, fidelity, health");
  command->set_help_flag();  // all arguments, --help too, are nearfield-bench's
  command->prefix_command();
  command->callback([command] { become_bench(command->remaining()); });
}

}  // namespace nearfield::cli
