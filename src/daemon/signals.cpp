#include "daemon/signals.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <initializer_list>

#include "control/crash/crash_report.hpp"
#include "core/system/threads.hpp"

namespace nearfield::daemon {

void end_process(ExitCode code, const std::string& why) {
  while (control::is_crashing()) {  // the process ends by the crash's signal, 10 s later at most by SIGALRM
    ::pause();
  }
  // Writes directly to stderr: the journal reads the priority in front, critical or notice.
  const std::string line = fmt::format("<{}>nearfieldd: {}; ending with code {} cause=end\n",
                                       code == ExitCode::kOk ? 5 : 2, why, static_cast<int>(code));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(static_cast<int>(code));
}

namespace {

sigset_t set_of_signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) {
    sigaddset(&set, number);
  }
  return set;
}

void set_ignored(void (*action)(int)) {
  for (const int number : {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT}) {
    std::signal(number, action);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    std::signal(number, action);
  }
}

}  // namespace

void hold_signals() {
  const sigset_t held = set_of_signals({SIGTERM, SIGINT, SIGHUP});
  pthread_sigmask(SIG_BLOCK, &held, nullptr);
  set_ignored(SIG_IGN);
}

void release_signals() {
  set_ignored(SIG_DFL);
  const sigset_t held = set_of_signals({SIGTERM, SIGINT, SIGHUP});
  pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
}

EndAtSignal::EndAtSignal() : started_(eventfd(0, EFD_CLOEXEC)) {
  const sigset_t wanted = set_of_signals({SIGTERM, SIGINT});
  signals_ = FileDescriptor(signalfd(-1, &wanted, SFD_CLOEXEC));
  thread_ = std::thread([this] {
    give_signal_stack();
    wait();
  });
}

EndAtSignal::~EndAtSignal() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(started_.get(), &one, sizeof one);
  thread_.join();
}

void EndAtSignal::wait() const {
  std::array<pollfd, 2> waiting = {pollfd{started_.get(), POLLIN, 0}, pollfd{signals_.get(), POLLIN, 0}};
  while (poll(waiting.data(), waiting.size(), -1) < 0) {
  }
  if (waiting[0].revents == 0) {
    end_process(ExitCode::kOk, "asked to stop while it started");
  }
}

}  // namespace nearfield::daemon
