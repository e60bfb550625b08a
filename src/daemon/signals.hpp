#pragma once
#include <string>
#include <thread>

#include "core/error.hpp"
#include "core/system/files.hpp"

namespace nearfield::daemon {

/// Logs the reason and ends the process immediately: no destructor runs and no queue is emptied, since these could wait
/// for the part that failed. Recordings and rings remain readable.
[[noreturn]] void end_process(ExitCode code, const std::string& why);

/// Blocks SIGTERM, SIGINT and SIGHUP for this thread and all that it starts, and ignores signals that would end a
/// process by default and mean nothing to a daemon (SIGUSR1, SIGUSR2, SIGALRM, SIGIO, real-time signals and the like).
/// Must be the first call of main().
void hold_signals();

/// Undoes hold_signals() for short runs that Ctrl-C must end.
void release_signals();

/// Ends the process at SIGTERM or SIGINT while it starts and has nothing to clean up: compiling takes seconds. Once
/// this is destroyed, signals wait for Daemon::run().
class EndAtSignal {
 public:
  EndAtSignal();
  EndAtSignal(const EndAtSignal&) = delete;
  EndAtSignal& operator=(const EndAtSignal&) = delete;
  ~EndAtSignal();

 private:
  void wait() const;

  FileDescriptor started_;
  FileDescriptor signals_;
  std::thread thread_;
};

}  // namespace nearfield::daemon
