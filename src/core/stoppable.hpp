#pragma once
#include <exception>
#include <stop_token>
#include <utility>

namespace nearfield {

/// Ends work that nobody wants any more; no error.
struct Stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

/// While it exists, what this thread does may be given up: long computations call end_if_stopped() every few
/// hundredths of a second. They take no argument for it, as most of what lies between has nothing to do with it.
class Stoppable {
 public:
  explicit Stoppable(std::stop_token token) : before_(std::exchange(of_thread, std::move(token))) {}
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() { of_thread = std::move(before_); }

  /// For threads that help this one. Without a Stoppable no stop is possible.
  [[nodiscard]] static std::stop_token token() { return of_thread; }
  /// Throws Stopped where a stop has been requested. What throws it leaves its results as if it had not begun, or is
  /// begun anew or destroyed by its caller.
  static void end_if_stopped() {
    if (of_thread.stop_requested()) {
      throw Stopped();
    }
  }

 private:
  inline static thread_local std::stop_token of_thread;
  std::stop_token before_;
};

}  // namespace nearfield
