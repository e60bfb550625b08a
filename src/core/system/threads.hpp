#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace nearfield {

/// Lets one thread sleep until another calls, with a system call only if a thread sleeps. Takes no lock, and the caller
/// never waits.
///
/// The sleeper reads ticket(), checks its condition, and only then sleeps: a call in between ends the sleep at once.
class WakeUp {
 public:
  [[nodiscard]] std::uint32_t ticket() {
    sleepers_.store(1);
    return calls_.load();
  }
  /// Sleeps until a call after `ticket` or until `deadline_ns` of CLOCK_MONOTONIC; false after the deadline.
  bool sleep(std::uint32_t ticket, std::int64_t deadline_ns);
  /// Tells that the sleeper found its condition true without sleeping.
  void awake() { sleepers_.store(0, std::memory_order_relaxed); }
  void call() {
    if (sleepers_.load() != 0) {
      wake();
    }
  }

 private:
  void wake();
  std::atomic<std::uint32_t> calls_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// A mutex that a real-time thread may share with ordinary threads: the holder runs with the priority of the thread
/// that waits for it (PTHREAD_PRIO_INHERIT), so that no third thread prolongs the wait. Critical sections must be
/// short. For std::lock_guard, std::unique_lock and InheritingCondition; std::condition_variable_any has a plain mutex
/// inside, which its notify_one() locks.
class InheritingMutex {
 public:
  InheritingMutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int error = pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
    require(error);
  }
  ~InheritingMutex() { pthread_mutex_destroy(&mutex_); }
  InheritingMutex(const InheritingMutex&) = delete;
  InheritingMutex& operator=(const InheritingMutex&) = delete;

  void lock() { require(pthread_mutex_lock(&mutex_)); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  [[nodiscard]] pthread_mutex_t* native_handle() { return &mutex_; }

 private:
  static void require(int error) {
    if (error != 0) {
      throw std::system_error(error, std::generic_category(), "pthread_mutex");
    }
  }
  pthread_mutex_t mutex_{};
};

/// A condition variable for an InheritingMutex. A real-time thread must hold that mutex while it notifies: then no
/// thread without its priority is inside the condition variable.
class InheritingCondition {
 public:
  InheritingCondition() = default;
  ~InheritingCondition() { pthread_cond_destroy(&condition_); }
  InheritingCondition(const InheritingCondition&) = delete;
  InheritingCondition& operator=(const InheritingCondition&) = delete;

  void notify_one() { pthread_cond_signal(&condition_); }
  void notify_all() { pthread_cond_broadcast(&condition_); }
  template <class Holds>
  void wait(std::unique_lock<InheritingMutex>& lock, const Holds& holds) {
    while (!holds()) {
      pthread_cond_wait(&condition_, lock.mutex()->native_handle());
    }
  }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

/// Gives the calling thread a stack for signal handlers, until the thread ends: without one an overflow of its own
/// stack ends the process without a crash report. To be called where a thread starts. A thread that has one, such as
/// from a sanitizer, keeps it.
void give_signal_stack();

/// Thrown when a computation is cancelled; not an error.
struct Stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

/// While it exists, computations of this thread may be cancelled at their cancellation points, calls of
/// end_if_stopped(): the steps of searches, some hundredths of a second apart, the frequencies and parity classes of
/// models, and the records of a recording, including the 64 KiB searched for the next one
/// (docs/decisions/0035-searches-are-cancelled-by-their-threads-token.md).
class Stoppable {
 public:
  explicit Stoppable(std::stop_token token) : before_(std::exchange(token_of_thread, std::move(token))) {}
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() { token_of_thread = std::move(before_); }

  /// The token for threads that help this one. Without a Stoppable no stop is possible.
  [[nodiscard]] static std::stop_token token() { return token_of_thread; }
  /// Throws Stopped if a stop has been requested. Results may be left half changed: callers that catch it start over or
  /// destroy them.
  static void end_if_stopped() {
    if (token_of_thread.stop_requested()) {
      throw Stopped();
    }
  }

 private:
  inline static thread_local std::stop_token token_of_thread;
  std::stop_token before_;
};

}  // namespace nearfield
