#include "cli/python.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {
namespace {

constexpr const char* kInstall = "install python3-nearfield, or the wheel";

/// Starts a module's command line; nothing is imported from the working directory.
constexpr const char* kStartModule = R"(import importlib, sys
sys.path[:] = [folder for folder in sys.path if folder]
command, module, install = sys.argv[1:4]
try:
    main = importlib.import_module(module).main
except ModuleNotFoundError as error:
    sys.exit(sys.stderr.write(f"nearfield: error: {command}: expected the Python module {error.name}, which {sys.executable} "
                              f"does not find; {install}\n") and 66)
sys.exit(main(sys.argv[4:]))
)";

}  // namespace

std::vector<std::string> words_of(const CLI::App& command) {
  std::vector<std::string> words;
  std::vector<std::string> arguments;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_items_expected_max() == 0) {
      continue;
    }
    if (option->get_lnames().empty()) {
      arguments.push_back(option->as<std::string>());
    } else {
      words.push_back(fmt::format("--{}={}", option->get_lnames().front(), option->as<std::string>()));
    }
  }
  if (!arguments.empty()) {
    words.emplace_back("--");
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

void become_python(const PythonCommand& command, std::vector<std::string> arguments) {
  const char* const named = std::getenv("NEARFIELD_PYTHON");
  std::string python = named != nullptr && *named != '\0' ? named : "python3";
  arguments.insert(arguments.begin(), {python, "-c", kStartModule, command.command, command.module, kInstall});
  (void)std::fflush(stdout);
  setenv("NEARFIELD_PROGRAM", program_to_run("nearfield").c_str(), 1);
  execvp(python.c_str(), argv_of(arguments).data());
  if (errno == ENOENT) {
    throw NoInputError(fmt::format("{}: expected the program {} (NEARFIELD_PYTHON, or python3 of PATH), found none; {}",
                                   command.command, python, kInstall));
  }
  throw IoError(fmt::format("{}: can't start {}: {}", command.command, python, std::generic_category().message(errno)));
}

}  // namespace nearfield::cli
