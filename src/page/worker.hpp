#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace nearfield::page {

/// A thread at ordinary priority for calls that may wait, one after another. The destructor ends it after the call that
/// runs; the mutex guards the tasks that wait, which are then given up.
class Worker {
 public:
  static constexpr std::size_t kMostWaiting = 64;

  explicit Worker(std::string name);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// False where kMostWaiting tasks wait already: this one will not run. What `task` throws is logged. Any thread.
  bool run(std::function<void()> task, std::uint64_t owner = 0);
  /// Gives up the tasks of an owner that have not begun. Any thread.
  void drop(std::uint64_t owner);
  /// No task begins from now on.
  void close();

 private:
  struct Task {
    std::function<void()> run;
    std::uint64_t owner = 0;
  };

  void work(const std::string& name);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace nearfield::page
