#include "control/service/worker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "core/daemon_settings.hpp"

namespace nearfield::control {

Worker::Worker(std::string name, std::function<void(const std::exception& error)> failed, Priority priority)
    : name_(std::move(name)), failed_(std::move(failed)) {
  tasks_.reserve(kMostWaiting);
  thread_ = std::jthread([this, priority](const std::stop_token& stop) {
    const Stoppable stoppable(stop);
    give_signal_stack();
    leave_realtime();
    if (priority == Priority::kLow) {
      lower_priority();
    }
    pthread_setname_np(pthread_self(), name_.c_str());
    work();
  });
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

void Worker::request_close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  thread_.request_stop();
}

void Worker::close() {
  request_close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_closed_ || !tasks_.empty(); });
      if (is_closed_) {
        return;
      }
      task = std::move(tasks_.front().run);
      tasks_.erase(tasks_.begin());
    }
    run_task(task);
  }
}

void Worker::run_task(const std::function<void()>& task) const {
  try {
    task();
  } catch (const Stopped&) {  // is_closed_ is true
  } catch (const std::exception& error) {
    if (failed_) {
      failed_(error);
    }
    spdlog::error("{}: {}; what was in effect stays", name_, error.what());
  }
}

namespace {

void set_priority(int priority, std::vector<std::string>& warnings) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
  if (error == EPERM) {
    warnings.push_back(fmt::format(
        "daemon.realtime.priority: expected the right to run at SCHED_FIFO {0}, found none; give CAP_SYS_NICE "
        "or LimitRTPRIO={0}. Running at ordinary priority",
        priority));
  } else if (error != 0) {
    warnings.push_back(fmt::format("daemon.realtime.priority: SCHED_FIFO {} failed: {}. Running at ordinary priority",
                                   priority, std::strerror(error)));
  }
}

void set_affinity(const std::vector<int>& cpus, std::vector<std::string>& warnings) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &wanted);
  }
  const int error = pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted);
  if (error != 0) {
    warnings.push_back(fmt::format(
        "daemon.realtime.cpus: expected processors that this process may use, found [{}]: {}. Running on any",
        fmt::join(cpus, ", "), std::strerror(error)));
  }
}

void lock_memory(std::vector<std::string>& warnings) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    warnings.push_back(fmt::format(
        "daemon.realtime.lock_memory: locking failed: {}; give CAP_IPC_LOCK or LimitMEMLOCK=infinity. Memory may be "
        "swapped out",
        std::strerror(errno)));
  }
}

}  // namespace

std::vector<std::string> apply_realtime(const RealtimeSettings& settings) {
  std::vector<std::string> warnings;
  if (!settings.cpus.empty()) {
    set_affinity(settings.cpus, warnings);
  }
  if (settings.lock_memory) {
    lock_memory(warnings);
  }
  if (settings.priority > 0) {
    set_priority(settings.priority, warnings);
  }
  return warnings;
}

void leave_realtime() {
  const sched_param parameters{};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &parameters);  // lowering is always permitted
}

void lower_priority() {
  constexpr int kNice = 10;  // a weight of 110, against the usual 1024
  const auto thread = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, thread, std::max(kNice, getpriority(PRIO_PROCESS, thread)));  // always permitted
}

}  // namespace nearfield::control
