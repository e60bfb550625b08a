#include "daemon/live/frame_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/system/clocks.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::chrono::milliseconds kLook{5};
/// Longest interval between checks of a running thread; a longer one means that the thread did not run meanwhile.
/// Shorter delays occur on a busy machine, and count.
constexpr std::int64_t kLatestLookNs = 25'000'000;

}  // namespace

FrameWatch::FrameWatch(std::int64_t deadline_ns, OnHang on_hang, std::function<void()> prepare_thread)
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

FrameWatch::Planning::Planning(FrameWatch& watch, std::int64_t limit_ns) : watch_(&watch) {
  watch_->planning_until_ns_ = monotonic_ns() + limit_ns;
}

FrameWatch::Planning::~Planning() { watch_->planning_until_ns_ = 0; }

bool FrameWatch::is_planning() const noexcept { return monotonic_ns() < planning_until_ns_; }

void FrameWatch::run() {
  std::int64_t looked_ns = monotonic_ns();
  std::int64_t frame_ns = 0;    // begin of the last frame seen
  std::int64_t excused_ns = 0;  // part of its age that does not count
  bool is_reported = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::int64_t now_ns = monotonic_ns();
    const std::int64_t begun_ns = begun_ns_.load(std::memory_order_relaxed);
    if (begun_ns != frame_ns) {
      frame_ns = begun_ns;
      excused_ns = 0;
      is_reported = false;
    }
    const bool plans = now_ns < planning_until_ns_.load(std::memory_order_relaxed) ||
                       now_ns - begun_ns < first_limit_ns_.load(std::memory_order_relaxed);
    const std::int64_t excused_from_ns = std::max(begun_ns, looked_ns + (plans ? 0 : kLatestLookNs));
    excused_ns += std::max<std::int64_t>(0, now_ns - excused_from_ns);
    const std::int64_t age_ns = begun_ns == 0 ? 0 : now_ns - begun_ns - excused_ns;
    if (age_ns > deadline_ns_.load(std::memory_order_relaxed) && !std::exchange(is_reported, true) &&
        !on_hang_(age_ns)) {
      return;
    }
    looked_ns = now_ns;
    std::this_thread::sleep_for(kLook);
  }
}

void HopBoundary::run(const std::function<void()>& work) {
  const std::lock_guard one_at_a_time(callers_);
  work_ = &work;
  state_.store(State::kPosted);
  // Either this load sees that the engine has ended, or close() sees the posted work.
  if (State posted = State::kPosted; closed_.load() && state_.compare_exchange_strong(posted, State::kRefused)) {
    work();
    return;
  }
  state_.wait(State::kPosted);
  if (state_.load() == State::kRefused) {
    work();
    return;
  }
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void HopBoundary::run_posted() {
  try {
    (*work_)();
  } catch (...) {
    error_ = std::current_exception();
  }
  state_.store(State::kDone);
  state_.notify_one();
}

void HopBoundary::close() {
  closed_.store(true);
  if (State posted = State::kPosted; state_.compare_exchange_strong(posted, State::kRefused)) {
    state_.notify_one();
  }
}

}  // namespace nearfield::daemon
