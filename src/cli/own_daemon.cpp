#include "cli/own_daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "core/error.hpp"
#include "core/system/host.hpp"

namespace nearfield::cli {
namespace {

namespace fs = std::filesystem;

/// Blocks SIGINT, SIGTERM and SIGHUP during its lifetime: in a new child, before it has its own actions for them, they
/// would otherwise run the parent's handlers and be lost.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { end(); }
  void end() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Turns the child into nearfieldd, which ends with this process.
[[noreturn]] void become_daemon(std::vector<std::string> line, const fs::path& sockets, const fs::path& log,
                                pid_t parent, const SignalsWait& signals) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {  // it ended before prctl()
    _exit(static_cast<int>(ExitCode::kInternal));
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  signals.end();
  for (const char* const of_service : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
    unsetenv(of_service);  // systemd watches this process, if it is a service, but not its child
  }
  setenv("NEARFIELD_RUNTIME_DIR", sockets.c_str(), 1);
  if (!log.empty()) {
    constexpr mode_t kOwn = 0600;
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwn);
    if (file < 0) {
      _exit(static_cast<int>(ExitCode::kIo));
    }
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
  }
  execvp(program_to_run(OwnDaemon::kProgram).c_str(), argv_of(line).data());
  _exit(errno == ENOENT ? static_cast<int>(ExitCode::kNoInput) : static_cast<int>(ExitCode::kIo));
}

}  // namespace

fs::path temporary_folder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (error) {
    throw IoError(fmt::format("TMPDIR: expected a folder that is there, found none: {}", error.message()));
  }
  return folder;
}

OwnFolder::OwnFolder(const fs::path& parent, const std::string& name) : path_((parent / (name + "-XXXXXX")).string()) {
  if (mkdtemp(path_.data()) == nullptr) {
    throw IoError(
        fmt::format("{}: can't make a folder there: {}", parent.string(), std::generic_category().message(errno)));
  }
}

OwnFolder::~OwnFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

OwnDaemon::OwnDaemon(std::vector<std::string> arguments, const fs::path& sockets, const fs::path& log) {
  arguments.insert(arguments.begin(), kProgram);
  const pid_t parent = getpid();
  const SignalsWait signals;
  process_ = fork();
  if (process_ < 0) {
    throw IoError(fmt::format("can't start {}: {}", kProgram, std::generic_category().message(errno)));
  }
  if (process_ == 0) {
    become_daemon(std::move(arguments), sockets, log, parent, signals);
  }
}

OwnDaemon::~OwnDaemon() { end(); }

int OwnDaemon::end() {
  constexpr std::chrono::milliseconds kLook{20};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeout_s);
  while (!exit_code()) {
    if (std::chrono::steady_clock::now() < end) {
      ask_to_end();
    } else {
      kill(process_, SIGKILL);
    }
    std::this_thread::sleep_for(kLook);
  }
  return *exit_code_;
}

std::optional<int> OwnDaemon::exit_code() {
  int status = 0;
  if (!exit_code_ && waitpid(process_, &status, WNOHANG) == process_) {
    const bool is_ended = is_asked_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;  // before it had a handler
    const ExitCode of_signal = is_ended ? ExitCode::kOk : ExitCode::kInternal;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(of_signal);
  }
  return exit_code_;
}

void OwnDaemon::ask_to_end() {
  if (!is_asked_ && !exit_code_) {
    kill(process_, SIGTERM);
    is_asked_ = true;
  }
}

}  // namespace nearfield::cli
