#include "core/system/limited_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/host.hpp"

namespace nearfield {
namespace {

/// Runs `work` in the child with its output in the pipe. Ends the process, without the actions of a normal end that
/// would happen twice.
[[noreturn]] void become_worker(const std::function<std::string()>& work, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nowhere, STDIN_FILENO);  // only the terminal's group may read from it
  dup2(pipe, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  int code = 0;
  try {
    code = write_all(STDOUT_FILENO, work()) ? 0 : 1;
  } catch (...) {  // the parent reports that the child failed
    code = 1;
  }
  _exit(code);
}

std::string run_program_of(std::vector<std::string> line) {
  execvp(line.front().c_str(), argv_of(line).data());
  _exit(LimitedRun::kNotFound);
}

}  // namespace

LimitedRun::LimitedRun(const std::function<std::string()>& work, double limit_s)
    : end_(std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(limit_s))) {
  PipeEnds output = make_pipe();
  output_ = std::move(output.read_end);
  process_ = fork();
  if (process_ < 0) {
    throw IoError(fmt::format("can't start a process: {}", std::generic_category().message(errno)));
  }
  if (process_ == 0) {
    become_worker(work, output.write_end.get());
  }
  setpgid(process_, process_);  // both here and in the child, as either may run first
}

LimitedRun::LimitedRun(const std::vector<std::string>& line, double limit_s, const std::string& input)
    : LimitedRun(
          [&] {
            if (!input.empty()) {
              dup2(memory_file(input).get(), STDIN_FILENO);
            }
            return run_program_of(line);
          },
          limit_s) {}

LimitedRun::~LimitedRun() { kill_it(); }

std::string LimitedRun::Outcome::ending() const {
  switch (end) {
    case End::kDone:
      return fmt::format("ended with exit code {}", exit_code);
    case End::kLate:
      return "did not end within its time limit";
    case End::kDied:
      break;
  }
  return signal == 0 ? "ended in an unknown way"
                     : fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
}

bool LimitedRun::read_all(std::string& output, bool (*is_stopped)()) const {
  constexpr std::chrono::milliseconds kTurn{100};
  std::array<char, 4096> chunk{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
    if (left.count() <= 0 || (is_stopped != nullptr && is_stopped())) {
      return false;
    }
    pollfd waiting{.fd = output_.get(), .events = POLLIN, .revents = 0};
    const int ready =
        poll(&waiting, 1, static_cast<int>(is_stopped != nullptr ? std::min(left, kTurn).count() : left.count()));
    if (ready < 0 && errno != EINTR) {
      return false;
    }
    if (ready <= 0) {  // a signal, or a timeout of poll()
      continue;
    }
    const ssize_t count = read(output_.get(), chunk.data(), chunk.size());
    if (count == 0 || (count < 0 && errno != EINTR)) {
      return true;
    }
    output.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
}

LimitedRun::Outcome LimitedRun::wait(bool (*is_stopped)()) {
  Outcome outcome;
  if (!read_all(outcome.output, is_stopped)) {
    kill_it();
    outcome.end = End::kLate;
    return outcome;
  }
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(process_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended == process_ && WIFEXITED(status)) {
    outcome.end = End::kDone;
    outcome.exit_code = WEXITSTATUS(status);
  } else if (ended == process_ && WIFSIGNALED(status)) {
    outcome.signal = WTERMSIG(status);
  }
  process_ = 0;
  return outcome;
}

/// Does not wait for a process that the kernel keeps, such as one that waits for a broken disk.
void LimitedRun::kill_it() {
  constexpr int kLooks = 20;
  constexpr std::chrono::milliseconds kPause{10};
  if (process_ == 0) {
    return;
  }
  kill(-process_, SIGKILL);
  for (int i = 0; i < kLooks && waitpid(process_, nullptr, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(kPause);
  }
  process_ = 0;
}

}  // namespace nearfield
