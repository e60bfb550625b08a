#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>

namespace nearfield::daemon {

/// Lets other threads change the engine thread's state between two hops. The engine reads one atomic per hop and takes
/// no lock; the work must be short: a swap of pointers, a copy of a window's bits.
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
  /// Called when the engine's thread has ended and will not call pass() again.
  void close();

 private:
  enum class State : int {
    kNone,
    kPosted,   ///< work_ waits for the engine's thread
    kDone,     ///< work_ has run; error_ has its exception
    kRefused,  ///< the engine's thread has ended
  };
  void run_posted();

  std::mutex callers_;  ///< taken only by ordinary threads
  std::atomic<State> state_{State::kNone};
  std::atomic<bool> closed_{false};
  const std::function<void()>* work_ = nullptr;  ///< owned by the caller until posted, by the engine until done
  std::exception_ptr error_;                     ///< owned like work_
};

}  // namespace nearfield::daemon
