#include "daemon/live/hop_boundary.hpp"

#include <exception>
#include <utility>

namespace nearfield::daemon {

void HopBoundary::run(const std::function<void()>& work) {
  const std::lock_guard one_at_a_time(callers_);
  std::unique_lock lock(mutex_);
  work_ = &work;
  has_work_.store(true, std::memory_order_release);
  done_.wait(lock, [this] { return work_ == nullptr || closed_; });
  has_work_.store(false);
  if (work_ != nullptr) {
    work_ = nullptr;
    lock.unlock();
    work();
    return;
  }
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void HopBoundary::run_waiting() {
  {
    const std::lock_guard lock(mutex_);
    has_work_.store(false);
    if (work_ == nullptr) {
      return;
    }
    try {
      (*work_)();
    } catch (...) {
      error_ = std::current_exception();
    }
    work_ = nullptr;
  }
  done_.notify_one();
}

void HopBoundary::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  done_.notify_one();
}

}  // namespace nearfield::daemon
