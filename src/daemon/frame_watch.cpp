#include "daemon/frame_watch.hpp"

#include <chrono>
#include <utility>

#include "stream/wake_up.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::chrono::milliseconds kLook{5};

}  // namespace

FrameWatch::FrameWatch(std::int64_t deadline_ns, std::function<void(std::int64_t)> on_hang,
                       std::function<void()> prepare_thread)
    : on_hang_(std::move(on_hang)), deadline_ns_(deadline_ns), thread_([this, prepare = std::move(prepare_thread)] {
        if (prepare) {
          prepare();
        }
        run();
      }) {}

FrameWatch::~FrameWatch() {
  stop_ = true;
  thread_.join();
}

void FrameWatch::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::int64_t begun_ns = begun_ns_.load(std::memory_order_relaxed);
    const std::int64_t age_ns = begun_ns == 0 ? 0 : monotonic_ns() - begun_ns;
    if (age_ns > deadline_ns_.load(std::memory_order_relaxed)) {
      on_hang_(age_ns);
      return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace nearfield::daemon
