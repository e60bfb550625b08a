#include "core/system/inheriting_mutex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace nearfield {
namespace {

TEST(InheritingMutex, LetsOneThreadInAtATime) {
  InheritingMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 10'000; ++j) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(count, 40'000);
  const std::lock_guard lock(mutex);
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
}

TEST(InheritingCondition, WakesWhoWaits) {
  InheritingMutex mutex;
  InheritingCondition changed;
  int steps = 0;
  std::thread other([&] {
    std::unique_lock lock(mutex);
    steps = 1;
    changed.notify_one();
    changed.wait(lock, [&] { return steps == 2; });
    steps = 3;
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return steps == 1; });
    steps = 2;
    changed.notify_one();
    changed.wait_for(lock, std::chrono::minutes(1), [&] { return steps == 3; });
    EXPECT_EQ(steps, 3);
  }
  other.join();
}

TEST(InheritingCondition, WaitsNoLongerThanItIsTold) {
  InheritingMutex mutex;
  InheritingCondition never;
  std::unique_lock lock(mutex);
  const auto begun = std::chrono::steady_clock::now();
  never.wait_for(lock, std::chrono::milliseconds(1100), [] { return false; });
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(1100));
  EXPECT_FALSE(mutex.try_lock()) << "it is held again";
}

}  // namespace
}  // namespace nearfield
