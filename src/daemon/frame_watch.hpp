#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace nearfield::daemon {

/// Notices a frame that hangs: a thread that looks every 5 ms whether what began has ended in time.
class FrameWatch {
 public:
  /// `on_hang` is called on the watch's thread, once, with the frame's age in nanoseconds. `prepare_thread` runs on it
  /// first.
  FrameWatch(std::int64_t deadline_ns, std::function<void(std::int64_t age_ns)> on_hang,
             std::function<void()> prepare_thread = {});
  ~FrameWatch();
  FrameWatch(const FrameWatch&) = delete;
  FrameWatch& operator=(const FrameWatch&) = delete;

  void begin(std::int64_t now_ns) noexcept { begun_ns_.store(now_ns, std::memory_order_relaxed); }
  void end() noexcept { begun_ns_.store(0, std::memory_order_relaxed); }
  void set_deadline(std::int64_t deadline_ns) noexcept { deadline_ns_.store(deadline_ns, std::memory_order_relaxed); }

 private:
  void run();

  std::function<void(std::int64_t)> on_hang_;
  std::atomic<std::int64_t> deadline_ns_;
  std::atomic<std::int64_t> begun_ns_{0};  ///< 0: no frame is under way
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace nearfield::daemon
