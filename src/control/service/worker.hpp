#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/system/threads.hpp"

namespace nearfield {
struct RealtimeSettings;
}

namespace nearfield::control {

/// A thread without real-time priority for tasks that take long or may wait, one after another. What a task throws is
/// logged, and the next task runs. All calls from any thread.
class Worker {
 public:
  static constexpr std::size_t kMostWaiting = 64;
  /// kLow: other threads take precedence on the processors.
  enum class Priority { kOrdinary, kLow };
  /// `name` is that of the thread, at most 15 characters. `failed` is called on it with what a task throws, before the
  /// log has it.
  explicit Worker(std::string name, std::function<void(const std::exception& error)> failed = {},
                  Priority priority = Priority::kOrdinary);
  ~Worker() { close(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// False where kMostWaiting tasks wait already: this one will not run. Holds a mutex for some instructions, and
  /// allocates nothing for a task with a capture of at most two pointers.
  bool run(std::function<void()> task, std::uint64_t owner = 0);
  /// Gives up the tasks of an owner that have not begun.
  void drop(std::uint64_t owner);
  /// Cancels the running task (Stoppable); no other begins any more. Does not wait.
  void request_close();
  /// request_close(), and waits until the thread has ended. Must be called before the objects that the tasks use are
  /// destroyed.
  void close();
  [[nodiscard]] bool is_closing() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  struct Task {
    std::function<void()> run;
    std::uint64_t owner = 0;
  };
  void work();
  void run_task(const std::function<void()>& task) const;

  const std::string name_;
  const std::function<void(const std::exception& error)> failed_;
  mutable InheritingMutex mutex_;  ///< guards the members up to the thread; the engine's thread takes it, in run()
  InheritingCondition changed_;
  std::vector<Task> tasks_;  ///< the first runs next
  bool is_closed_ = false;
  std::jthread thread_;
};

/// Gives the calling thread, and threads it starts from then on, the SCHED_FIFO priority and the processors of the
/// settings, and locks the process's memory. Returns a warning, with its remedy, for each part that was not permitted
/// or not possible; the thread then continues unchanged.
std::vector<std::string> apply_realtime(const RealtimeSettings& settings);

/// Takes the calling thread back to the ordinary scheduler. Threads inherit their starter's: threads that serve users
/// (control, metrics, log) call this first.
void leave_realtime();

/// Gives the calling thread, and threads it starts from then on, a nice value of 10: when others use all processors,
/// they get a tenth of another's time.
void lower_priority();

}  // namespace nearfield::control
