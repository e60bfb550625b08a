#include "bench/common/outputs.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/host.hpp"
#include "version/version.hpp"

namespace nearfield::bench {
namespace {

[[noreturn]] void throw_io(const std::filesystem::path& path, std::string_view what, const std::error_code& error) {
  throw IoError(fmt::format("{}: {}: {}", path.string(), what, error.message()));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "nearfield-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw_io(pattern, "can't make a temporary folder", {errno, std::generic_category()});
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_text(const std::filesystem::path& path, std::string_view text) { write_whole_file(path, text); }

nlohmann::ordered_json report_head(std::string_view benchmark, const ocl::DeviceInfo& device) {
  return {{"benchmark", benchmark},
          {"version", version()},
          {"commit", commit()},
          {"device",
           {{"name", device.name},
            {"platform", device.platform},
            {"version", device.version},
            {"driver", device.driver},
            {"is_gpu", device.is_gpu},
            {"compute_units", device.compute_units},
            {"max_work_group_size", device.max_work_group_size},
            {"local_memory_bytes", device.local_memory_bytes},
            {"global_memory_bytes", device.global_memory_bytes}}}};
}

nlohmann::ordered_json to_json(const Distribution& d) {
  return {{"count", d.count}, {"minimum", d.minimum}, {"median", d.median},
          {"p99", d.p99},     {"p99_9", d.p999},      {"maximum", d.maximum}};
}

nlohmann::ordered_json to_json(const Ceilings& c) {
  return {{"write_bytes_per_s", c.write_bytes_per_s},
          {"read_bytes_per_s", c.read_bytes_per_s},
          {"locked_write_bytes_per_s", c.locked_write_bytes_per_s},
          {"locked_read_bytes_per_s", c.locked_read_bytes_per_s},
          {"copy_bytes_per_s", c.copy_bytes_per_s},
          {"operations_per_s", c.operations_per_s},
          {"launch_and_wait_s", c.launch_and_wait_s},
          {"further_launch_s", c.further_launch_s}};
}

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

/// Starts a program with these words, the first its file, and its stderr in a new file. Returns the status
/// that it ends with, as of wait().
int run(std::vector<std::string> words, const std::filesystem::path& messages) {
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR);
  pid_t process = 0;
  const int error = posix_spawnp(&process, words.front().c_str(), &actions, nullptr, argv_of(words).data(), environ);
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
  std::fflush(stdout);  // lines that were printed before the call stay before the other program's
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

/// Throws what run_report_program() with these options would throw because something is not installed; measures and
/// draws nothing.
void require_report_program(const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {"--check"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run_program(arguments, folder.path() / "messages");
}

}  // namespace

void run_report_program(std::string_view json, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  const std::filesystem::path report = folder.path() / "report.json";
  write_text(report, json);
  std::vector<std::string> arguments = {report.string()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  run_program(arguments, folder.path() / "messages");
}

void add_json(CLI::App& command, std::string& path) {
  command
      .add_option("--json", path,
                  "print the results as JSON instead of tables; with a name, write them to this file, where "
                  "- is standard output")
      ->expected(0, 1)
      ->default_str(std::string(kStandardOutput))
      ->type_name("[FILE]");
}

void write_json(const std::string& path, const std::string& text) {
  if (path == kStandardOutput) {
    fmt::print("{}", text);
  } else if (!path.empty()) {
    write_text(path, text);
  }
}

void add_outputs(CLI::App& command, Outputs& outputs) {
  add_json(command, outputs.json);
  command.add_option("--csv", outputs.csv, "file for the figures as CSV");
  command.add_option("--png", outputs.png, "folder for plots");
  command.add_option("--device", outputs.device, "INDEX, or part of a platform's or device's name, or NAME:INDEX");
}

void require_outputs(const Outputs& outputs) {
  if (!outputs.png.empty()) {
    require_report_program({"--png", outputs.png});
  }
}

void show_progress(const std::string& what) { spdlog::info("{}", what); }

}  // namespace nearfield::bench
