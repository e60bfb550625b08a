#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace nearfield::daemon {

/// Where other threads change what the engine's thread uses: between two hops. The engine reads one atomic a hop and
/// takes no lock; the work there must be short: a swap of pointers, a copy of a window's bits.
class HopBoundary {
 public:
  /// Runs `work` on the engine's thread between two hops and waits for it; rethrows what it throws. After close() the
  /// caller's thread runs it. One caller at a time.
  void run(const std::function<void()>& work);

  /// Called by the engine's thread between two hops.
  void pass() {
    if (state_.load(std::memory_order_acquire) == State::kPosted) {
      run_posted();
    }
  }
  /// Called when the engine's thread has ended and calls no more.
  void close();

 private:
  enum class State : int {
    kNone,
    kPosted,   ///< work_ waits for the engine's thread
    kDone,     ///< it has run; error_ has what it threw
    kRefused,  ///< the engine's thread has ended
  };
  void run_posted();

  std::mutex callers_;  ///< of ordinary threads alone
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> closed_{false};
  const std::function<void()>* work_ = nullptr;  ///< the caller's until it is posted, the engine's until it is done
  std::exception_ptr error_;                     ///< the same
};

}  // namespace nearfield::daemon
