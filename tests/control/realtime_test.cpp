#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

#include "control/service/worker.hpp"

namespace nearfield::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Scheduling {
  int policy = -1;
  int priority = -1;
};

Scheduling own_scheduling() {
  Scheduling result;
  sched_param parameters{};
  pthread_getschedparam(pthread_self(), &result.policy, &parameters);
  result.priority = parameters.sched_priority;
  return result;
}

/// Runs on a thread of its own, so that no test changes the next one's scheduling.
template <typename Function>
void on_own_thread(const Function& function) {
  std::thread(function).join();
}

TEST(Realtime, NothingAskedChangesNothing) {
  on_own_thread([] {
    EXPECT_THAT(apply_realtime({}), IsEmpty());
    EXPECT_EQ(own_scheduling().policy, SCHED_OTHER);
  });
}

TEST(Realtime, GivesThePriorityOrSaysWhyNot) {
  on_own_thread([] {
    const std::vector<std::string> warnings = apply_realtime({7, {}, false});
    const Scheduling now = own_scheduling();
    if (now.policy == SCHED_FIFO) {
      EXPECT_EQ(now.priority, 7);
      EXPECT_THAT(warnings, IsEmpty());
    } else {
      EXPECT_THAT(warnings, ElementsAre(HasSubstr("daemon.realtime.priority: ")));
    }
    leave_realtime();
    EXPECT_EQ(own_scheduling().policy, SCHED_OTHER);
  });
}

TEST(Realtime, LowersThePriorityOfTheThreadsThatItStartsToo) {
  const auto nice = [] { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); };
  const int before = nice();
  on_own_thread([&] {
    lower_priority();
    EXPECT_GE(nice(), 10);
    on_own_thread([&] { EXPECT_GE(nice(), 10); });
  });
  EXPECT_EQ(nice(), before);
}

TEST(Realtime, BindsToProcessors) {
  on_own_thread([] {
    cpu_set_t before;
    ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    std::size_t first = 0;
    while (!CPU_ISSET(first, &before)) {
      ++first;
    }
    EXPECT_THAT(apply_realtime({0, {static_cast<int>(first)}, false}), IsEmpty());
    cpu_set_t after;
    ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    EXPECT_EQ(CPU_COUNT(&after), 1);
    EXPECT_TRUE(CPU_ISSET(first, &after));
  });
}

TEST(Realtime, SaysWhichProcessorsAreNotThere) {
  on_own_thread([] {
    EXPECT_THAT(apply_realtime({0, {1023}, false}),
                ElementsAre(HasSubstr("daemon.realtime.cpus: expected processors that this process may use, found "
                                      "[1023]")));
  });
}

TEST(Realtime, LeavesEveryOtherPolicyToo) {
  on_own_thread([] {
    const sched_param parameters{};
    ASSERT_EQ(pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters), 0);
    leave_realtime();
    EXPECT_EQ(own_scheduling().policy, SCHED_OTHER);
  });
}

}  // namespace
}  // namespace nearfield::control
