#include "daemon/warm_up/warm_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/system/child_signals.hpp"
#include "core/system/clocks.hpp"
#include "core/system/memory_file.hpp"

namespace nearfield::daemon {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20U;

struct PipeEnds {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

[[noreturn]] void throw_io(const char* call, int error) {
  throw IoError(fmt::format("a process to make the new configuration in: {}: {}", call, std::strerror(error)));
}

PipeEnds make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_io("pipe2", errno);
  }
  return {.read_end = FileDescriptor(ends[0]), .write_end = FileDescriptor(ends[1])};
}

pid_t spawn(const FileDescriptor& request, const FileDescriptor& output, const FileDescriptor& go_on) {
  // Copies the descriptors above the child's numbers: a dup2 must not overwrite one that is still needed.
  const auto above = [](const FileDescriptor& descriptor) {
    return FileDescriptor(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kGoOnDescriptor + 1));
  };
  const std::array descriptors = {above(request), above(output), above(go_on)};
  for (const FileDescriptor& descriptor : descriptors) {
    if (!descriptor.valid()) {
      throw_io("fcntl", errno);
    }
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, descriptors[0].get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, descriptors[1].get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, descriptors[2].get(), kGoOnDescriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, kGoOnDescriptor + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  use_default_signals(attributes);
  std::string name = "nearfieldd";
  std::string flag = "--warm";
  const std::array<char*, 3> arguments = {name.data(), flag.data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw_io("posix_spawn", error);
  }
  return process;
}

/// Describes the end of a process for a message.
std::string text_of_end(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

WarmProcess::WarmProcess(const WarmRequest& request, double limit_s, int stop_descriptor)
    : limit_s_(limit_s),
      deadline_ns_(monotonic_ns() + std::llround(limit_s * kNsPerSecond)),
      stop_descriptor_(stop_descriptor) {
  const FileDescriptor input = memory_file(to_json(request).dump(-1, ' ', false, json::error_handler_t::replace));
  PipeEnds output = make_pipe();
  PipeEnds go_on = make_pipe();
  process_ = spawn(input, output.write_end, go_on.read_end);
  messages_ = std::move(output.read_end);
  go_on_ = std::move(go_on.write_end);
}

WarmProcess::~WarmProcess() {
  if (process_ != 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
}

void WarmProcess::wait_until_loaded() {
  const json message = next_message();
  for (const json& stamp : message.at("loaded")) {
    stamps_.push_back(file_stamp_of(stamp));
  }
}

void WarmProcess::warm(double limit_s) {
  limit_s_ = limit_s;
  deadline_ns_ = monotonic_ns() + std::llround(limit_s * kNsPerSecond);
  const char byte = 1;
  (void)!write(go_on_.get(), &byte, 1);  // if the child has ended, next_message() reports it
  (void)next_message();
  std::array<char, 1> nothing{};
  do {
    wait_for_bytes();
  } while (read(messages_.get(), nothing.data(), nothing.size()) > 0);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

void WarmProcess::require_same_files() const {
  for (const FileStamp& stamp : stamps_) {
    if (stamp_of(stamp.path) != stamp) {
      throw ConfigError(
          fmt::format("{}: expected the file that was read and tried, found another; try again when it "
                      "no longer changes",
                      stamp.path));
    }
  }
}

json WarmProcess::next_message() {
  while (received_.find('\n') == std::string::npos) {
    wait_for_bytes();
    std::array<char, 4096> chunk{};
    const ssize_t bytes = read(messages_.get(), chunk.data(), chunk.size());
    if (bytes <= 0 || received_.size() > kMostMessageBytes) {
      throw_end();
    }
    received_.append(chunk.data(), static_cast<std::size_t>(bytes));
  }
  const std::size_t end = received_.find('\n');
  json message = json::parse(received_.substr(0, end));
  received_.erase(0, end + 1);
  if (const auto error = message.find("error"); error != message.end()) {
    throw Error(static_cast<ExitCode>(error->at("exit_code").get<int>()), error->at("message").get<std::string>());
  }
  return message;
}

void WarmProcess::wait_for_bytes() {
  std::array<pollfd, 2> waiting = {pollfd{messages_.get(), POLLIN, 0}, pollfd{stop_descriptor_, POLLIN, 0}};
  for (;;) {
    const std::int64_t left_ms = (deadline_ns_ - monotonic_ns()) / kNsPerMillisecond;
    if (left_ms <= 0) {
      throw ConfigError(fmt::format(
          "expected a configuration that is read and compiled within {} s, found that a process which tried it did not "
          "end",
          limit_s_));
    }
    const int ready = poll(waiting.data(), waiting.size(), static_cast<int>(left_ms));
    if (ready > 0 && waiting[1].revents != 0) {
      throw ConfigError("the daemon stops");
    }
    if (ready > 0) {
      return;
    }
  }
}

void WarmProcess::throw_end() {
  int status = 0;
  kill(process_, SIGKILL);  // it has closed its output: no further message follows
  waitpid(process_, &status, 0);
  process_ = 0;
  throw ConfigError(fmt::format(
      "expected a configuration that can be read and compiled, found that a process which tried it ended by {}",
      text_of_end(status)));
}

}  // namespace nearfield::daemon
