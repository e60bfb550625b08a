#pragma once
#include <atomic>
#include <cstdint>

namespace nearfield {

/// Lets one thread sleep until another one calls, which makes a system call only when a thread sleeps. No lock, and the
/// caller never waits.
///
/// The sleeper reads ticket(), looks whether what it wants is there, and only then sleeps: a call in between ends the
/// sleep at once.
class WakeUp {
 public:
  [[nodiscard]] std::uint32_t ticket() {
    sleepers_.store(1);
    return calls_.load();
  }
  /// Until a call after `ticket` or `deadline_ns` of CLOCK_MONOTONIC; false when that has passed.
  bool sleep(std::uint32_t ticket, std::int64_t deadline_ns);
  /// The sleeper found what it wanted without sleeping.
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
