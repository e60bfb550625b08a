#pragma once
#include <atomic>
#include <csignal>

namespace nearfield::cli {

/// SIGINT and SIGTERM as a flag that long work polls.
class StopSignal {
 public:
  /// From now on the two no longer end the process.
  static void watch() {
    raised_ = false;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
  }
  /// SIGHUP as well, unless it is ignored, as under nohup: for what must not outlive its terminal.
  static void watch_hangup() {
    if (std::signal(SIGHUP, on_signal) == SIG_IGN) {
      std::signal(SIGHUP, SIG_IGN);
    }
  }
  /// One of them came since watch().
  static bool raised() { return raised_; }

 private:
  static void on_signal(int /*signal*/) { raised_ = true; }
  inline static std::atomic<bool> raised_ = false;  // NOLINT: a signal handler reaches nothing else
};

}  // namespace nearfield::cli
