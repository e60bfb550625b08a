#pragma once
#include <CLI/CLI.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "cli/stop_signal.hpp"

namespace nearfield::cli {

/// Adds `--wait [SECONDS]`, 60 without a number: the longest wait for a daemon that is still starting.
inline void add_wait(CLI::App& command, double& wait_s) {
  command.add_option("--wait", wait_s, "wait so many seconds, 60 without a number, until the daemon answers")
      ->expected(0, 1)
      ->default_str("60")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("[SECONDS]");
}

/// Calls `answers` every 50 ms until it returns true, `wait_s` have passed or StopSignal was raised; false in the last
/// two cases.
template <typename Answers>
bool wait_for(double wait_s, const Answers& answers) {
  constexpr std::chrono::milliseconds kPause{50};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  while (!answers()) {
    if (StopSignal::raised() || std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace nearfield::cli
