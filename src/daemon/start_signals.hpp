#pragma once
#include <thread>

#include "core/system/file_descriptor.hpp"

namespace nearfield::daemon {

/// Blocks SIGTERM, SIGINT and SIGHUP for this thread and all that it starts, and ignores those whose default is to end
/// a process and that mean nothing to a daemon (SIGUSR1, SIGUSR2, SIGALRM, SIGIO, real-time signals and the like). To
/// be called first thing in main().
void hold_signals();

/// Undoes hold_signals() where a run is short and Ctrl-C must end it.
void release_signals();

/// Ends the process at SIGTERM or SIGINT while it starts and has nothing to put away: compiling takes seconds. Once
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
