#pragma once
#include <exception>
#include <stop_token>
#include <utility>

namespace nearfield {

/// Thrown when a computation is cancelled; not an error.
struct Stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

/// While it exists, computations of this thread may be cancelled at their cancellation points, calls of
/// end_if_stopped(): the steps of searches, some hundredths of a second apart, the frequencies and parity classes of
/// models, and the records of a recording, including the 64 KiB searched for the next one
/// (docs/decisions/0035-searches-are-cancelled-by-their-threads-token.md).
class Stoppable {
 public:
  explicit Stoppable(std::stop_token token) : before_(std::exchange(token_of_thread, std::move(token))) {}
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() { token_of_thread = std::move(before_); }

  /// The token for threads that help this one. Without a Stoppable no stop is possible.
  [[nodiscard]] static std::stop_token token() { return token_of_thread; }
  /// Throws Stopped if a stop has been requested. Results may be left half changed: callers that catch it start over or
  /// destroy them.
  static void end_if_stopped() {
    if (token_of_thread.stop_requested()) {
      throw Stopped();
    }
  }

 private:
  inline static thread_local std::stop_token token_of_thread;
  std::stop_token before_;
};

}  // namespace nearfield
