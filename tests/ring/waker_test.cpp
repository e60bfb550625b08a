#include "ring/waker.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace nearfield::ring {
namespace {

constexpr std::uint32_t kRounds = 30;

/// Threads that sleep on a word until it has the number of the next round, for all rounds.
class Sleepers {
 public:
  explicit Sleepers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        for (std::uint32_t round = 1; round <= kRounds; ++round) {
          while (std::atomic_ref(word_).load() < round) {
            syscall(SYS_futex, &word_, FUTEX_WAIT, round - 1, nullptr, nullptr, 0);
          }
          ++awake_;
        }
      });
    }
  }
  ~Sleepers() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  std::uint32_t* word() { return &word_; }
  void begin(std::uint32_t round) { std::atomic_ref(word_).store(round); }
  /// Those that nothing wakes hold it up until the test's own time is over.
  void wait_for_all(std::uint32_t round) const {
    while (awake_ < threads_.size() * round) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  std::uint32_t word_ = 0;
  std::atomic<std::size_t> awake_ = 0;
  std::vector<std::thread> threads_;
};

class WakerOf : public testing::TestWithParam<int> {};

TEST_P(WakerOf, WakesAllThatSleep) {
  Sleepers sleepers(GetParam());
  Waker waker(sleepers.word());
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));  // all sleep, or some are about to
    sleepers.begin(round);
    waker.notify();
    sleepers.wait_for_all(round);
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, WakerOf,
                         testing::Values(0, 1, Waker::kAtOnce, Waker::kAtOnce + 1, 4 * Waker::kAtOnce));

}  // namespace
}  // namespace nearfield::ring
