#pragma once
#include <atomic>
#include <cstdint>

namespace nearfield {

/// Lets one thread sleep until another calls, with a system call only if a thread sleeps. Takes no lock, and the caller
/// never waits.
///
/// The sleeper reads ticket(), checks its condition, and only then sleeps: a call in between ends the sleep at once.
class WakeUp {
 public:
  [[nodiscard]] std::uint32_t ticket() {
    sleepers_.store(1);
    return calls_.load();
  }
  /// Sleeps until a call after `ticket` or until `deadline_ns` of CLOCK_MONOTONIC; false after the deadline.
  bool sleep(std::uint32_t ticket, std::int64_t deadline_ns);
  /// Tells that the sleeper found its condition true without sleeping.
  void awake() { sleepers_.store(0, std::memory_order_relaxed); }
  void call() {
    if (sleepers_.load() != 0) {
      wake();
    }
  }

 private:
  void wake();
  std::atomic<std::uint32_t> calls_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace nearfield
