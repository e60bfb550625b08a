#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command.hpp"
#include "core/error.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kBenchProgram = "nearfield-bench";

}  // namespace

void become_bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kBenchProgram);
  execvp(program_to_run(kBenchProgram).c_str(), argv_of(arguments).data());
  if (errno == ENOENT) {
    throw NoInputError(
        fmt::format("bench: expected the program {} in {} or in a folder of PATH, found none; `./dev build` makes it",
                    kBenchProgram, folder_of_this_program().string()));
  }
  throw IoError(fmt::format("bench: can't start {}: {}", kBenchProgram, std::generic_category().message(errno)));
}

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(kBench,
                                         "Measure this device: whole frames, front ends, imager, health; "
                                         "--here: whether it holds a configuration live");
  command->set_help_flag();  // nearfield-bench handles all arguments, even --help
  command->prefix_command();
  command->callback([command] { become_bench(command->remaining()); });
}

}  // namespace nearfield::cli
