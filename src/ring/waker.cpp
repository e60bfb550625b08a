#include "ring/waker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>

namespace nearfield::ring {

namespace {

/// Returns the number of woken threads.
long wake(std::uint32_t* word, int most) { return syscall(SYS_futex, word, FUTEX_WAKE, most, nullptr, nullptr, 0); }

}  // namespace

void wake_all(std::uint32_t* word) { wake(word, INT_MAX); }

Waker::Waker(std::uint32_t* word) : word_(word) {
  thread_ = std::thread([this] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by other threads
    run();
  });
}

Waker::~Waker() {
  stop_ = true;
  call_thread();
  thread_.join();
}

void Waker::notify() {
  if (has_many()) {
    call_thread();
    return;
  }
  const long woken = wake(word_, kAtOnce + 1);
  if (woken > kAtOnce) {
    woken_.store(woken, std::memory_order_relaxed);
    call_thread();
  }
}

void Waker::call_thread() {
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_one();
}

void Waker::run() {
  std::uint32_t seen = 0;
  while (!stop_) {
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    const long sleepers = woken_.exchange(0, std::memory_order_relaxed) + wake(word_, INT_MAX);
    many_.store(sleepers > kAtOnce, std::memory_order_relaxed);
  }
}

}  // namespace nearfield::ring
