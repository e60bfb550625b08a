#include "bench/common/report_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/common/files.hpp"
#include "core/error.hpp"
#include "core/system/host.hpp"

namespace nearfield::bench {
namespace {

constexpr const char* kProgram = "nearfield-bench-report";
constexpr const char* kInterpreter = "/usr/bin/python3";

std::string why_not_started(const std::string& file, int error) {
  if (error != ENOENT) {
    return std::generic_category().message(error);
  }
  if (file.find('/') == std::string::npos) {  // not beside this program: PATH was searched
    return fmt::format("expected it in {} or in a folder of PATH, and {}, which runs it; `./dev build` makes it",
                       folder_of_this_program().string(), kInterpreter);
  }
  return fmt::format("expected {}, found none; it is Debian's package python3", kInterpreter);
}

/// Of a program that is started with these words, the first its file, and whose stderr goes to a new file: the status
/// that it ends with, as of wait().
int run(std::vector<std::string> words, const std::filesystem::path& messages) {
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR);
  pid_t process = 0;
  const int error = posix_spawnp(&process, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw NoInputError(fmt::format("can't start {}: {}", kProgram, why_not_started(words.front(), error)));
  }
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(process, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended != process) {
    throw IoError(fmt::format("can't wait for {}: {}", kProgram, std::generic_category().message(errno)));
  }
  return status;
}

/// Without what every message of this program begins with, too.
std::string message_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  constexpr std::string_view kBegin = "nearfield: error: ";
  if (const std::size_t begin = text.rfind(kBegin); begin != std::string::npos) {
    text.erase(0, begin + kBegin.size());
  }
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

/// Its exit code is one of error.hpp's unless it is not the program's own, but Python's or a signal's.
void run_program(const std::vector<std::string>& arguments, const std::filesystem::path& messages) {
  std::vector<std::string> words = {program_to_run(kProgram)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::fflush(stdout);  // what was printed before comes before what the other program prints
  const int status = run(words, messages);
  const std::string message = message_in(messages);
  if (status == 0) {
    fmt::print(stderr, "{}{}", message, message.empty() ? "" : "\n");  // warnings
    return;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) >= static_cast<int>(ExitCode::kUsage)) {
    throw Error(static_cast<ExitCode>(WEXITSTATUS(status)), message);
  }
  const std::string how = WIFEXITED(status) ? fmt::format("with exit code {}", WEXITSTATUS(status))
                                            : fmt::format("by signal {}", WTERMSIG(status));
  throw Error(ExitCode::kInternal, fmt::format("{} ended {}: {}", kProgram, how, message));
}

}  // namespace

void require_report_program(const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {"--check"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run_program(arguments, folder.path() / "messages");
}

void run_report_program(std::string_view json, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const std::filesystem::path report = folder.path() / "report.json";
  write_text(report, json);
  std::vector<std::string> arguments = {report.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run_program(arguments, folder.path() / "messages");
}

}  // namespace nearfield::bench
