#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace nearfield::daemon {

/// Where other threads change what the engine's thread uses: between two hops. The engine looks at one atomic a hop;
/// what is done there must be short: a swap of pointers, a window's bits copied. The mutex guards the work and what
/// became of it.
class HopBoundary {
 public:
  /// Has the engine's thread do `work` between two hops and waits for that; rethrows what it throws. After close() the
  /// work is done here. One caller at a time.
  void run(const std::function<void()>& work);

  /// The engine's, between two hops.
  void pass() {
    if (asked_.load(std::memory_order_acquire)) {
      run_waiting();
    }
  }
  /// The engine's thread has ended: nobody passes any more.
  void close();

 private:
  void run_waiting();

  std::atomic<bool> asked_{false};
  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr error_;
  bool closed_ = false;
};

}  // namespace nearfield::daemon
