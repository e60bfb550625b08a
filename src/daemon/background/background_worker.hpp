#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/system/inheriting_mutex.hpp"

namespace nearfield::daemon {

/// A thread without real-time priority for tasks that must not delay the engine's thread, such as microphone health or
/// parameter searches. A task that is due more than once before it runs, runs once; among several due tasks, the one
/// that was added first runs first. None is interrupted by another.
class BackgroundWorker {
 public:
  using Task = std::function<void()>;
  /// kLow: other threads take precedence on the processors.
  enum class Priority { kOrdinary, kLow };
  /// `name` is that of the thread, at most 15 characters.
  explicit BackgroundWorker(std::string name, Priority priority = Priority::kOrdinary);
  ~BackgroundWorker();
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;

  /// Returns the number for run(). A task that throws a DeviceError ends the process with its exit code; other
  /// exceptions are logged. Any thread.
  std::size_t add(Task task);
  /// Marks the task as due. Any thread; holds a mutex for some instructions only.
  void run(std::size_t task);
  /// Cancels the running task (Stoppable); other due tasks do not run any more. Does not wait.
  void request_close();
  /// request_close(), and waits until the thread has ended. Must be called before the objects that the tasks use are
  /// destroyed.
  void close();
  [[nodiscard]] bool is_closing() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  void work();
  void run_task(const Task& task) const;
  const std::string name_;
  mutable InheritingMutex mutex_;  ///< the engine's thread takes it, in run()
  InheritingCondition due_;
  std::vector<Task> tasks_;
  std::vector<bool> is_due_;  ///< [task]
  bool is_closed_ = false;
  std::jthread thread_;
};

}  // namespace nearfield::daemon
