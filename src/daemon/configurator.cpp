#include "daemon/configurator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"
#include "daemon/warm_up/warm_child.hpp"

namespace nearfield::daemon {
namespace {

/// A child process, `nearfieldd --warm` of the same executable, that reads and compiles a new configuration before the
/// daemon does: damaged input, hangs and crashes end only that process, and compiled programs are in the caches on disk
/// when the daemon makes the same epoch. It runs at ordinary scheduling and low priority. For one thread, which waits.
class WarmProcess {
 public:
  /// Starts it. It must have read the settings within `limit_s`; `stop_descriptor` becomes readable when the daemon is
  /// to stop. Throws IoError if it can't be started.
  WarmProcess(const WarmRequest& request, double limit_s, int stop_descriptor);
  /// Kills the child if it still runs.
  ~WarmProcess();
  WarmProcess(const WarmProcess&) = delete;
  WarmProcess& operator=(const WarmProcess&) = delete;

  /// Waits until the child has read the settings. Throws what the child threw, with its exit code; ConfigError if it
  /// crashed, took too long, or the daemon is to stop.
  void wait_until_loaded();
  /// Lets it compile, for at most `limit_s`, and waits until it has ended and freed its memory; throws like
  /// wait_until_loaded().
  void warm(double limit_s);
  /// Throws ConfigError if a file that the child has read has changed since.
  void require_same_files() const;

 private:
  nlohmann::json next_message();
  void wait_for_bytes();
  [[noreturn]] void throw_end();

  double limit_s_;
  std::int64_t deadline_ns_;
  int stop_descriptor_;
  FileDescriptor messages_;  ///< the child's standard output
  FileDescriptor go_on_;
  pid_t process_ = 0;  ///< 0: its end has been collected
  std::string received_;
  std::vector<FileStamp> stamps_;
};

using nlohmann::json;

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20U;

[[noreturn]] void throw_io(const char* call, int error) {
  throw IoError(fmt::format("a process to make the new configuration in: {}: {}", call, std::strerror(error)));
}

/// Gives a child the default handling of signals: the daemon blocks some and ignores others.
void use_default_signals(posix_spawnattr_t& attributes) {
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults;
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
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
  std::vector<std::string> words = {"nearfieldd", "--warm"};
  pid_t process = 0;
  const int error = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, argv_of(words).data(), environ);
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

}  // namespace

Configurator::Configurator(ConfigurationSource source, Settings settings, LiveInput input, Hooks hooks)
    : source_(std::move(source)),
      input_(std::move(input)),
      hooks_(std::move(hooks)),
      ring_elements_(ring_settings(source_settings(settings)).elements),
      closed_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      settings_(std::move(settings)) {
  if (!closed_.valid()) {
    throw IoError("eventfd failed");
  }
}

void Configurator::close() {
  const std::uint64_t one = 1;
  (void)!write(closed_.get(), &one, sizeof one);  // fails only if the eventfd is readable already
}

Configurator::Change Configurator::set(const std::vector<std::string>& overrides) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = set_;
  all.insert(all.end(), overrides.begin(), overrides.end());
  return change(std::move(all));
}

Configurator::Change Configurator::reload() {
  if (source_.path == kStandardInput) {
    throw ConfigError(
        "reload: expected a configuration in a file, found one that came by standard input, which cannot be read "
        "again; `nearfield ctl set` changes single settings");
  }
  const std::lock_guard lock(mutex_);
  return change({});
}

void Configurator::judge(const Settings& next) const {
  if (const std::vector<std::string> fixed = changes_at_restart(settings_, next); !fixed.empty()) {
    throw ConfigError(
        fmt::format("{}: expected no change while the daemon runs; restart it for that", fmt::join(fixed, ", ")));
  }
  const auto places_of = [](const Settings& settings) {
    return settings.array.geometry.placement ? settings.array.geometry.placement->positions_m
                                             : std::vector<MicrophonePosition>();
  };
  if (places_of(settings_) != places_of(next)) {
    throw ConfigError(
        "array.positions: expected the positions that the daemon started with, found others in the file; restart the "
        "daemon for that");
  }
  if (ring_settings(source_settings(next)).elements > ring_elements_) {
    throw ConfigError(
        fmt::format("{}.window_samples, {}hop_samples: expected a window and a hop that, with "
                    "daemon.source.reorder_bit_times, fill at most a quarter of the ring of {} bit-times, found {} and "
                    "{}; restart the daemon for that",
                    section_of_longest_window(next), section_of_longest_window(next) == "front_end" ? "" : "front_end.",
                    ring_elements_, longest_window_samples(next), next.front_end.hop_samples));
  }
}

Configurator::Change Configurator::change(std::vector<std::string> set_so_far) {
  std::vector<std::string> overrides = source_.overrides;
  overrides.insert(overrides.end(), set_so_far.begin(), set_so_far.end());
  WarmProcess child({.path = source_.path,
                     .overrides = overrides,
                     .input = input_,
                     .standard_input = source_.path == kStandardInput ? standard_input_text() : ""},
                    source_.reading_limit_s, closed_.get());
  child.wait_until_loaded();
  Settings next = load_daemon_settings(source_.path, overrides);
  judge(next);
  child.warm(source_.compiling_limit_s);
  child.require_same_files();
  std::unique_ptr<Epoch> made = hooks_.make(next, epoch_ + 1);
  Change change{.epoch = epoch_ + 1, .warnings = made->warnings};
  const std::unique_ptr<Epoch> old = hooks_.install(std::move(made));
  ++epoch_;
  const std::vector<std::string> changed = changes(settings_, next);
  spdlog::info("configuration: epoch {} begins: {}", epoch_,
               changed.empty() ? "nothing is changed" : fmt::format("{}", fmt::join(changed, ", ")));
  settings_ = std::move(next);
  set_ = lasting(std::move(set_so_far));
  return change;
}

}  // namespace nearfield::daemon
