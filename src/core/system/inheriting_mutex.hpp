#pragma once
#include <pthread.h>

#include <cerrno>
#include <system_error>

namespace nearfield {

/// A mutex that a real-time thread may share with ordinary threads: who holds it runs with the priority of the thread
/// that waits for it (PTHREAD_PRIO_INHERIT), so that no third thread makes that wait longer. What runs while it is held
/// must be short. For std::lock_guard, std::unique_lock and std::condition_variable_any.
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
  /// For tests.
  [[nodiscard]] pthread_mutex_t* native_handle() { return &mutex_; }

 private:
  static void require(int error) {
    if (error != 0) {
      throw std::system_error(error, std::generic_category(), "pthread_mutex");
    }
  }
  pthread_mutex_t mutex_{};
};

}  // namespace nearfield
