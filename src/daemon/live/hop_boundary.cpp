#include "daemon/live/hop_boundary.hpp"

#include <utility>

namespace nearfield::daemon {

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
