#include "bench/common/report_program.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "bench/common/files.hpp"
#include "core/program_file.hpp"
#include "nearfield/error.hpp"

namespace nearfield::bench {
namespace {

constexpr const char* kProgram = "nearfield-bench-report";

/// The exit code of a program that is started with these words, the first its file; 128 + the signal that ended it.
int run(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  pid_t process = 0;
  if (const int error = posix_spawnp(&process, argv.front(), nullptr, nullptr, argv.data(), environ); error != 0) {
    throw NoInputError(fmt::format("can't start {}: {}", words.front(), std::generic_category().message(error)));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

void run_report_program(std::string_view json, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const std::filesystem::path report = folder.path() / "report.json";
  write_text(report, json);
  std::vector<std::string> words = {program_to_run(kProgram), report.string()};
  words.insert(words.end(), options.begin(), options.end());
  std::fflush(stdout);  // what was printed before comes before what the other program prints
  if (const int code = run(words); code != 0) {
    throw Error(static_cast<ExitCode>(code),
                fmt::format("plots and pages: {} ended with exit code {}", kProgram, code));
  }
}

}  // namespace nearfield::bench
