#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "ring/ring_writer.hpp"

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
  /// False where some are still asleep after a minute; they are woken then.
  [[nodiscard]] bool all_wake_up(std::uint32_t round) {
    for (int look = 0; look < 600'000; ++look) {
      if (awake_ == threads_.size() * round) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    begin(kRounds);
    wake_all(&word_);
    return false;
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
    ASSERT_TRUE(sleepers.all_wake_up(round)) << "round " << round;
  }
  if (GetParam() <= Waker::kAtOnce) {
    EXPECT_FALSE(waker.has_many());
  }
}

TEST(WakerTest, LeavesManyToItsThread) {
  Sleepers sleepers(Waker::kAtOnce + 2);
  Waker waker(sleepers.word());
  bool has_many = false;
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    sleepers.begin(round);
    waker.notify();
    ASSERT_TRUE(sleepers.all_wake_up(round)) << "round " << round;
    has_many = has_many || waker.has_many();
  }
  EXPECT_TRUE(has_many);
}

INSTANTIATE_TEST_SUITE_P(Readers, WakerOf,
                         testing::Values(0, 1, Waker::kAtOnce, Waker::kAtOnce + 1, 4 * Waker::kAtOnce));

}  // namespace
}  // namespace nearfield::ring
