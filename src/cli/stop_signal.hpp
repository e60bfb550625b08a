#pragma once
#include <atomic>
#include <csignal>

namespace nearfield::cli {

/// SIGINT and SIGTERM as something that long work looks at now and then.
class StopSignal {
 public:
  /// From now on the two no longer end the process.
  static void watch() {
    asked_ = false;
    std::signal(SIGINT, ask);
    std::signal(SIGTERM, ask);
  }
  /// One of them came since watch().
  static bool asked() { return asked_; }

 private:
  static void ask(int /*signal*/) { asked_ = true; }
  inline static std::atomic<bool> asked_ = false;  // NOLINT: a signal handler reaches nothing else
};

}  // namespace nearfield::cli
