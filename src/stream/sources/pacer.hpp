#pragma once
#include <cstdint>

namespace nearfield {

/// Keeps a rate by absolute deadlines: a delay does not shift later deadlines.
class Pacer {
 public:
  /// Starts now.
  explicit Pacer(double rate_hz);
  /// Sleeps until `count` elements are due, `count` / rate after the start; false after 20 ms if that is still ahead.
  [[nodiscard]] bool wait_for(std::uint64_t count) const;
  /// Sets the thread's timer slack to the minimum, so that the kernel does not prolong its sleeps (by 50 us, by
  /// default).
  static void sleep_precisely();

 private:
  double rate_hz_;
  std::int64_t start_ns_;
};

}  // namespace nearfield
