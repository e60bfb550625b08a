#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace nearfield::daemon {

/// Detects a frame that hangs: a thread that checks every 5 ms whether the frame that began has ended in time. Time in
/// which this thread itself did not run, because the process was stopped, its control group frozen or the machine
/// suspended, is no part of a frame's age; nor is, up to a limit, time in which this process plans a new configuration
/// or computes the first frame of one: drivers load and compile kernels then.
class FrameWatch {
 public:
  /// The watch's thread calls it, with a frame's age, when the frame is too old; false ends the watch, true goes on
  /// with the next frame.
  using OnHang = std::function<bool(std::int64_t age_ns)>;

  /// From its begin to its end, at most for `limit_ns`, no frame grows older.
  class Planning {
   public:
    Planning(FrameWatch& watch, std::int64_t limit_ns);
    ~Planning();
    Planning(const Planning&) = delete;
    Planning& operator=(const Planning&) = delete;

   private:
    FrameWatch* watch_;
  };

  /// `prepare_thread` runs on the watch's thread first.
  FrameWatch(std::int64_t deadline_ns, OnHang on_hang, std::function<void()> prepare_thread = {});
  ~FrameWatch();
  FrameWatch(const FrameWatch&) = delete;
  FrameWatch& operator=(const FrameWatch&) = delete;

  void begin(std::int64_t now_ns) noexcept { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  /// Nothing is computed: bits are waited for.
  void end() noexcept { begun_ns_.store(0, std::memory_order_relaxed); }
  /// The frame is out.
  void out() noexcept {
    end();
    first_limit_ns_.store(0, std::memory_order_relaxed);
  }
  /// The frame that begins next is the first of a configuration: for so long from its begin it does not grow older.
  void expect_first(std::int64_t limit_ns) noexcept { first_limit_ns_.store(limit_ns, std::memory_order_relaxed); }
  [[nodiscard]] bool is_planning() const noexcept;
  void set_deadline(std::int64_t deadline_ns) noexcept { deadline_ns_.store(deadline_ns, std::memory_order_relaxed); }

 private:
  void run();

  OnHang on_hang_;
  std::atomic<std::int64_t> deadline_ns_;
  std::atomic<std::int64_t> begun_ns_{0};           ///< 0: no frame is under way
  std::atomic<std::int64_t> planning_until_ns_{0};  ///< in the past: nothing is planned
  std::atomic<std::int64_t> first_limit_ns_{0};     ///< 0: the frame is not the first of a configuration
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace nearfield::daemon
