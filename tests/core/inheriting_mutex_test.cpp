#include "core/system/inheriting_mutex.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
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

TEST(InheritingMutex, WorksWithAConditionVariable) {
  InheritingMutex mutex;
  std::condition_variable_any changed;
  bool is_set = false;
  std::thread setter([&] {
    {
      const std::lock_guard lock(mutex);
      is_set = true;
    }
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_set; });
  }
  setter.join();
  EXPECT_TRUE(is_set);
}

}  // namespace
}  // namespace nearfield
