#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "core/system/threads.hpp"

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
    changed.wait(lock, [&] { return steps == 3; });
    EXPECT_EQ(steps, 3);
  }
  other.join();
}

}  // namespace
}  // namespace nearfield
