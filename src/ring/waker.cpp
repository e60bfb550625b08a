#include "ring/waker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>

namespace nearfield::ring {

void wake_all(std::uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

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
  notify();
  thread_.join();
}

void Waker::notify() {
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_one();
}

void Waker::run() {
  std::uint32_t seen = 0;
  while (!stop_) {
    calls_.wait(seen, std::memory_order_acquire);
    seen = calls_.load(std::memory_order_acquire);
    wake_all(word_);
  }
}

}  // namespace nearfield::ring
