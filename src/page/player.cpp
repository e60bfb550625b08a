#include "page/player.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "control/service/realtime.hpp"
#include "core/error.hpp"
#include "core/system/child_signals.hpp"
#include "core/system/clocks.hpp"
#include "core/system/host.hpp"

namespace nearfield::page {
namespace {

using nlohmann::json;

constexpr const char* kPlayProgram = "nearfield";
constexpr std::size_t kMostPlayerSettings = 64;
constexpr std::size_t kMostSettingBytes = 4096;
constexpr std::size_t kMostMessages = 6;
constexpr std::size_t kMostLineBytes = 1000;
constexpr double kLongestPart_s = 1e7;

std::optional<double> time_at(const json& message, const char* key, bool may_be_0) {
  const auto found = message.find(key);
  if (found == message.end() || found->is_null()) {
    return std::nullopt;
  }
  const double time_s = found->is_number() ? found->get<double>() : -1.0;
  if (!(time_s >= 0.0) || time_s > kLongestPart_s || (time_s == 0.0 && !may_be_0)) {
    throw UsageError(
        fmt::format("{}: expected a time {} 0 s, at most {:g} s", key, may_be_0 ? "from" : "above", kLongestPart_s));
  }
  return time_s;
}

struct PlayerPipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

PlayerPipe player_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw IoError(fmt::format("a player's pipe: {}", std::strerror(errno)));
  }
  return {.read_end = FileDescriptor(ends[0]), .write_end = FileDescriptor(ends[1])};
}

std::vector<std::string> player_line(const std::string& path, const PlayerRequest& request) {
  std::vector<std::string> line = {kPlayProgram, "play", "--background", std::to_string(getpid()), "--json"};
  if (request.start_s) {
    line.insert(line.end(), {"--start", fmt::format("{}", *request.start_s)});
  }
  if (request.seconds) {
    line.insert(line.end(), {"--seconds", fmt::format("{}", *request.seconds)});
  }
  // A long deadline, since at low priority a frame may wait long for a processor.
  line.insert(line.end(), {"--set", "daemon.page.address=off", "--set", "daemon.deadlines.frame_ms=60000"});
  for (const std::string& setting : request.settings) {
    line.insert(line.end(), {"--set", setting});
  }
  line.insert(line.end(), {"--", path});
  return line;
}

/// This process's environment without systemd's variables for a service: a player is not one of its processes.
std::vector<char*> player_environment() {
  constexpr std::array<std::string_view, 3> kOfService = {"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID="};
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::none_of(kOfService.begin(), kOfService.end(),
                     [&](std::string_view one) { return text.starts_with(one); })) {
      variables.push_back(*variable);
    }
  }
  variables.push_back(nullptr);
  return variables;
}

FileDescriptor player_event() {
  FileDescriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) {
    throw IoError(fmt::format("a player's event: {}", std::strerror(errno)));
  }
  return event;
}

/// Starts it with two pipes as its outputs; standard input is empty.
pid_t start_player(std::vector<std::string> line, int output, int messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  use_default_signals(attributes);
  std::vector<char*> arguments;
  arguments.reserve(line.size() + 1);
  for (std::string& argument : line) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  std::vector<char*> environment = player_environment();
  pid_t process = 0;
  const int error = posix_spawnp(&process, program_to_run(kPlayProgram).c_str(), &actions, &attributes,
                                 arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw IoError(fmt::format("{}: can't be started: {}", program_to_run(kPlayProgram), std::strerror(error)));
  }
  return process;
}

/// Available bytes of a pipe; nullopt at its end.
std::optional<std::string> piece_of(int descriptor) {
  std::array<char, 4096> bytes{};
  const ssize_t count = read(descriptor, bytes.data(), bytes.size());
  return count > 0 ? std::optional(std::string(bytes.data(), static_cast<std::size_t>(count))) : std::nullopt;
}

/// True for log lines of a daemon without an error.
bool is_mere_information(std::string_view line) {
  return line.find(": info: ") != std::string_view::npos || line.find(": debug: ") != std::string_view::npos ||
         line.starts_with("convert ") || line.starts_with("settings: ");
}

}  // namespace

const char* name_of(Player::Phase phase) {
  switch (phase) {
    case Player::Phase::kPreparing:
      return "preparing";
    case Player::Phase::kPlaying:
      return "playing";
    default:
      return "ended";
  }
}

void require_player_settings(const std::vector<std::string>& settings) {
  constexpr std::string_view kKeyCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-[]";
  if (settings.size() > kMostPlayerSettings) {
    throw UsageError(fmt::format("settings: expected at most {}, found {}", kMostPlayerSettings, settings.size()));
  }
  for (const std::string& setting : settings) {
    const std::size_t mark = setting.find('=');
    const std::string key = setting.substr(0, mark);
    const bool is_key = mark != std::string::npos && !key.empty() && setting.size() <= kMostSettingBytes &&
                        key.find_first_not_of(kKeyCharacters) == std::string::npos && key.front() != '-';
    if (!is_key) {
      throw UsageError(fmt::format("settings: expected KEY=VALUE of at most {} bytes, found \"{}\"", kMostSettingBytes,
                                   setting.substr(0, kMostLineBytes)));
    }
    if (key == "daemon" || key.starts_with("daemon.") || key.starts_with("daemon[")) {
      throw UsageError(fmt::format(
          "settings: expected settings of the processing, found {}: a recording that the page opens is played by a "
          "daemon whose own settings stand",
          key));
    }
  }
}

PlayerRequest player_request_of(const json& message) {
  PlayerRequest request;
  const json name = message.value("recording", json());
  if (!name.is_string() || name.get_ref<const std::string&>().empty() ||
      name.get_ref<const std::string&>().find('/') != std::string::npos) {
    throw UsageError("recording: expected the name of a file in the folder of the recordings, without a path");
  }
  request.recording = name.get<std::string>();
  const json settings = message.value("settings", json::array());
  if (!settings.is_array() ||
      !std::all_of(settings.begin(), settings.end(), [](const json& one) { return one.is_string(); })) {
    throw UsageError("settings: expected a list of texts KEY=VALUE");
  }
  request.settings = settings.get<std::vector<std::string>>();
  require_player_settings(request.settings);
  request.start_s = time_at(message, "start_s", true);
  request.seconds = time_at(message, "seconds", false);
  return request;
}

/// The child process while the thread monitors it.
struct Player::Process {
  pid_t id = 0;
  FileDescriptor output;
  FileDescriptor messages;
};

Player::Player(std::string path, PlayerRequest request) : request_(std::move(request)), wake_(player_event()) {
  thread_ = std::thread([this, path = std::move(path)] { run(path); });
}

Player::~Player() {
  end("its page ended");
  thread_.join();
}

void Player::end(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) {
      why_ = why;
    }
  }
  is_to_end_ = true;
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

Player::State Player::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Player::set_ended(std::string text) {
  const std::lock_guard lock(mutex_);
  state_.phase = Phase::kEnded;
  state_.text = std::move(text);
}

void Player::run(const std::string& path) {
  control::leave_realtime();
  pthread_setname_np(pthread_self(), "nf-page-play");
  try {
    PlayerPipe output = player_pipe();
    PlayerPipe messages = player_pipe();
    Process process;
    process.id = start_player(player_line(path, request_), output.write_end.get(), messages.write_end.get());
    process.output = std::move(output.read_end);
    process.messages = std::move(messages.read_end);
    output.write_end = FileDescriptor();  // otherwise the pipes would never end
    messages.write_end = FileDescriptor();
    follow(process);
  } catch (const std::exception& error) {
    set_ended(error.what());
  }
}

/// Monitors the process until it has closed both pipes, which its own child holds too, or is killed because it does not
/// end on request.
void Player::follow(Process& process) {
  std::array<pollfd, 3> waiting = {pollfd{process.output.get(), POLLIN, 0}, pollfd{process.messages.get(), POLLIN, 0},
                                   pollfd{wake_.get(), POLLIN, 0}};
  std::int64_t killed_ns = 0;  // time of the kill; 0: no end requested
  bool is_killed = false;
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const std::int64_t now_ns = monotonic_ns();
    if (is_to_end_ && killed_ns == 0) {
      waiting[2].fd = -1;
      kill(process.id, SIGTERM);
      killed_ns = now_ns + kTimeout_s * kNsPerSecond;
    } else if (killed_ns != 0 && now_ns >= killed_ns) {
      kill(process.id, SIGKILL);  // its daemon then gets SIGTERM
      is_killed = true;
      break;
    }
    const int timeout_ms = killed_ns == 0 ? -1 : static_cast<int>((killed_ns - now_ns) / kNsPerMillisecond) + 1;
    if (poll(waiting.data(), waiting.size(), timeout_ms) <= 0) {
      continue;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) {
        continue;
      }
      const std::optional<std::string> piece = piece_of(waiting[i].fd);
      if (!piece) {
        waiting[i].fd = -1;
      } else if (i == 0) {
        take_output(*piece);
      } else {
        take_messages(*piece);
      }
    }
  }
  int status = 0;
  waitpid(process.id, &status, 0);
  say_end(status, is_killed);
}

/// Reads the first line, which names the sockets.
void Player::take_output(const std::string& text) {
  if (output_.size() > kMostSettingBytes || output_.find('\n') != std::string::npos) {
    return;
  }
  output_ += text;
  const std::size_t end = output_.find('\n');
  if (end == std::string::npos) {
    return;
  }
  const json line = json::parse(output_.substr(0, end), nullptr, false);
  if (!line.is_object()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  state_.phase = Phase::kPlaying;
  state_.ring_socket = line.value("ring", "");
  state_.control_socket = line.value("control", "");
  state_.text.clear();
}

void Player::take_messages(const std::string& text) {
  line_ += text;
  for (std::size_t end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
    std::string line = line_.substr(0, std::min(end, kMostLineBytes));
    line_.erase(0, end + 1);
    if (!is_mere_information(line)) {
      messages_.push_back(line);
      if (messages_.size() > kMostMessages) {
        messages_.erase(messages_.begin());
      }
    }
    const std::lock_guard lock(mutex_);
    if (state_.phase == Phase::kPreparing) {
      state_.text = std::move(line);
    }
  }
  if (line_.size() > kMostLineBytes) {
    line_.resize(kMostLineBytes);
  }
}

void Player::say_end(int status, bool is_killed) {
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    why = why_;
  }
  if (is_killed) {
    set_ended(fmt::format("{}; it did not end within {} s and was killed", why, kTimeout_s));
    return;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    set_ended(why.empty() ? "another program ended it" : why);
    return;
  }
  const std::string how = WIFSIGNALED(status) ? fmt::format("it was ended by signal {}", WTERMSIG(status))
                                              : fmt::format("exit code {}", WEXITSTATUS(status));
  if (!why.empty()) {
    set_ended(fmt::format("{} ({})", why, how));
    return;
  }
  set_ended(messages_.empty() ? how : fmt::format("{} ({})", fmt::join(messages_, "\n"), how));
}

}  // namespace nearfield::page
