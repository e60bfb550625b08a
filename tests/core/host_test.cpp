#include "core/system/host.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace nearfield {
namespace {

TEST(Host, ProcessorsAreThoseOfTheThread) {
  EXPECT_GE(usable_processors(), 1);
  std::jthread([] {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &mine);
    ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
    EXPECT_EQ(usable_processors(), 1);
  }).join();
}

}  // namespace
}  // namespace nearfield
