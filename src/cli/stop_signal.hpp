#pragma once
#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

#include "core/stoppable.hpp"

namespace nearfield::cli {

/// SIGINT and SIGTERM as a flag that long work polls.
class StopSignal {
 public:
  /// Prevents the two signals from ending the process from now on.
  static void watch() {
    raised_ = false;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
  }
  /// Watches SIGHUP as well, unless it is ignored, such as under nohup: for work that must not outlive its terminal.
  static void watch_hangup() {
    if (std::signal(SIGHUP, on_signal) == SIG_IGN) {
      std::signal(SIGHUP, SIG_IGN);
    }
  }
  /// True if one of the signals was received since watch().
  static bool raised() { return raised_; }

 private:
  static void on_signal(int /*signal*/) { raised_ = true; }
  inline static std::atomic<bool> raised_ = false;  // NOLINT: a signal handler reaches nothing else
};

/// During its lifetime, a signal that StopSignal watches cancels computations of this thread at their cancellation
/// points.
class StoppedBySignal {
 public:
  StoppedBySignal()
      : watch_([this](const std::stop_token& ended) {
          constexpr std::chrono::milliseconds kLook{20};
          while (!ended.stop_requested()) {
            if (StopSignal::raised()) {
              source_.request_stop();
              return;
            }
            std::this_thread::sleep_for(kLook);
          }
        }) {}

 private:
  std::stop_source source_;
  Stoppable stoppable_{source_.get_token()};
  std::jthread watch_;
};

}  // namespace nearfield::cli
