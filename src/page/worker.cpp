#include "page/worker.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "control/service/realtime.hpp"

namespace nearfield::page {

Worker::Worker(std::string name) {
  thread_ = std::thread([this, name = std::move(name)] { work(name); });
}

Worker::~Worker() {
  close();
  thread_.join();
}

bool Worker::run(std::function<void()> task, std::uint64_t owner) {
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= kMostWaiting) {
    return false;
  }
  if (!is_closed_) {
    tasks_.push_back({std::move(task), owner});
    changed_.notify_one();
  }
  return true;
}

void Worker::drop(std::uint64_t owner) {
  const std::lock_guard lock(mutex_);
  std::erase_if(tasks_, [owner](const Task& task) { return task.owner == owner; });
}

void Worker::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
}

void Worker::work(const std::string& name) {
  control::leave_realtime();
  pthread_setname_np(pthread_self(), name.c_str());
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
      if (is_closed_) {
        return;
      }
      task = std::move(tasks_.front().run);
      tasks_.pop_front();
    }
    try {
      task();
    } catch (const std::exception& error) {
      spdlog::error("{}: {}", name, error.what());
    }
  }
}

}  // namespace nearfield::page
