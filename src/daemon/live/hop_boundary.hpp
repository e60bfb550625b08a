#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace nearfield::daemon {

/// Where other threads change what the engine's thread uses: between two hops. The engine reads one atomic a hop; the
/// work there must be short: a swap of pointers, a copy of a window's bits. The mutex guards the work and its result.
class HopBoundary {
 public:
  /// Runs `work` on the engine's thread between two hops and waits for it; rethrows what it throws. After close() the
  /// caller's thread runs it. One caller at a time.
  void run(const std::function<void()>& work);

  /// Called by the engine's thread between two hops.
  void pass() {
    if (has_work_.load(std::memory_order_acquire)) {
      run_waiting();
    }
  }
  /// Called when the engine's thread has ended and calls no more.
  void close();

 private:
  void run_waiting();

  std::atomic<bool> has_work_{false};
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr error_;
  bool closed_ = false;
};

}  // namespace nearfield::daemon
