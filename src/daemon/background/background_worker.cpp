#include "daemon/background/background_worker.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "control/service/realtime.hpp"
#include "core/error.hpp"
#include "core/stoppable.hpp"
#include "daemon/signals.hpp"

namespace nearfield::daemon {

BackgroundWorker::BackgroundWorker(std::string name, Priority priority) : name_(std::move(name)) {
  thread_ = std::jthread([this, priority](const std::stop_token& stop) {
    const Stoppable stoppable(stop);
    control::leave_realtime();
    if (priority == Priority::kLow) {
      control::lower_priority();
    }
    pthread_setname_np(pthread_self(), name_.c_str());
    work();
  });
}

BackgroundWorker::~BackgroundWorker() { close(); }

std::size_t BackgroundWorker::add(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  is_due_.push_back(false);
  return tasks_.size() - 1;
}

void BackgroundWorker::run(std::size_t task) {
  const std::lock_guard lock(mutex_);
  is_due_.at(task) = true;
  due_.notify_one();
}

void BackgroundWorker::request_close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  due_.notify_all();
  thread_.request_stop();
}

void BackgroundWorker::close() {
  request_close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

/// Ends the process if a device fails, like the engine's thread; other exceptions only end the task.
void BackgroundWorker::run_task(const Task& task) const {
  try {
    task();
  } catch (const Stopped&) {  // is_closed_ is true
  } catch (const DeviceError& error) {
    end_process(error.exit_code(), error.what());
  } catch (const std::exception& error) {
    spdlog::error("{}: {}; what was in effect stays", name_, error.what());
  }
}

void BackgroundWorker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto first_due = [this] { return std::find(is_due_.begin(), is_due_.end(), true); };
    due_.wait(lock, [&] { return is_closed_ || first_due() != is_due_.end(); });
    if (is_closed_) {
      return;
    }
    const auto due = first_due();
    *due = false;
    const Task task = tasks_[static_cast<std::size_t>(due - is_due_.begin())];
    lock.unlock();
    run_task(task);
    lock.lock();
  }
}

}  // namespace nearfield::daemon
