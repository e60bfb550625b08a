#pragma once
#include <pthread.h>

#include <mutex>
#include <system_error>

namespace nearfield {

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

}  // namespace nearfield
