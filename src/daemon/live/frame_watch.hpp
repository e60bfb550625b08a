#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace nearfield::daemon {

/// Detects a frame that hangs: a thread checks every 5 ms that the current frame has not exceeded its deadline. Time
/// during which this thread itself did not run, because the process was stopped, its control group frozen or the
/// machine suspended, does not count to a frame's age; nor does, up to a limit, time during which this process plans a
/// new configuration or computes the first frame of one: drivers load and compile kernels then.
class FrameWatch {
 public:
  /// Called by the watch's thread with a frame's age when the frame is too old; false ends the watch, true continues
  /// with the next frame.
  using OnHang = std::function<bool(std::int64_t age_ns)>;

  /// Stops the ageing of frames during its lifetime, for at most `limit_ns`.
  class Planning {
   public:
    Planning(FrameWatch& watch, std::int64_t limit_ns);
    ~Planning();
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;

   private:
    FrameWatch* watch_;
  };

  /// `prepare_thread` runs first, on the watch's thread.
  FrameWatch(std::int64_t deadline_ns, OnHang on_hang, std::function<void()> prepare_thread = {});
  ~FrameWatch();
  FrameWatch(const FrameWatch&) = delete;
  FrameWatch& operator=(const FrameWatch&) = delete;

  void begin(std::int64_t now_ns) noexcept { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  /// Marks the engine as waiting for bits.
  void end() noexcept { begun_ns_.store(0, std::memory_order_relaxed); }
  /// Marks the frame as published.
  void out() noexcept {
    end();
    first_limit_ns_.store(0, std::memory_order_relaxed);
  }
  /// Announces the first frame of a configuration, which does not age for `limit_ns` from its begin.
  void expect_first(std::int64_t limit_ns) noexcept { first_limit_ns_.store(limit_ns, std::memory_order_relaxed); }
  [[nodiscard]] bool is_planning() const noexcept;
  void set_deadline(std::int64_t deadline_ns) noexcept { deadline_ns_.store(deadline_ns, std::memory_order_relaxed); }

 private:
  void run();

  OnHang on_hang_;
  std::atomic<std::int64_t> deadline_ns_;
  std::atomic<std::int64_t> begun_ns_{0};           ///< 0: no frame is being computed
  std::atomic<std::int64_t> planning_until_ns_{0};  ///< in the past: nothing is planned
  std::atomic<std::int64_t> first_limit_ns_{0};     ///< 0: the frame is not the first of a configuration
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

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
