#include "control/service/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "control/crash/crash_report.hpp"
#include "core/error.hpp"
#include "core/system/threads.hpp"
#include "support/sanitizers.hpp"

namespace nearfield::control {
namespace {

TEST(Worker, TasksThatWaitAreBoundedAndGoWithTheirOwner) {
  std::vector<std::size_t> done;  // of the worker's thread, until the last task
  std::promise<void> has_begun;
  std::promise<void> may_go_on;
  std::promise<void> is_last;
  Worker worker("nf-test");
  ASSERT_TRUE(worker.run(
      [&] {
        has_begun.set_value();
        may_go_on.get_future().wait();
      },
      1));
  has_begun.get_future().wait();
  for (std::size_t i = 0; i < Worker::kMostWaiting; ++i) {
    ASSERT_TRUE(worker.run([&done, i] { done.push_back(i); }, 1 + i % 2)) << i;
  }
  EXPECT_FALSE(worker.run([&done] { done.push_back(1000); }, 2)) << "one too many";
  worker.drop(1);
  EXPECT_TRUE(worker.run([&is_last] { is_last.set_value(); }, 3)) << "there is room again";
  may_go_on.set_value();
  is_last.get_future().wait();
  std::vector<std::size_t> expected;
  for (std::size_t i = 1; i < Worker::kMostWaiting; i += 2) {
    expected.push_back(i);
  }
  EXPECT_EQ(done, expected) << "in their order, without those of owner 1";
}

TEST(Worker, LeavesWhatIsDueWhenItCloses) {
  Worker worker("nf-test");
  std::promise<void> begun;
  std::promise<void> go_on;
  int runs = 0;
  worker.run([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  worker.run([&] { ++runs; });
  std::thread closing([&] { worker.close(); });
  while (!worker.is_closing()) {
    std::this_thread::yield();
  }
  go_on.set_value();
  closing.join();
  EXPECT_EQ(runs, 0);
}

// Whether the task catches it, or the worker does.
TEST(Worker, CancelsTheTaskThatRuns) {
  for (const bool catches : {true, false}) {
    Worker worker("nf-test");
    std::promise<void> begun;
    bool was_stopped = false;  // of the worker's thread, read after close()
    worker.run([&] {
      begun.set_value();
      try {
        for (;;) {
          Stoppable::end_if_stopped();
          std::this_thread::yield();
        }
      } catch (const Stopped&) {
        was_stopped = true;
        if (!catches) {
          throw;
        }
      }
    });
    begun.get_future().wait();
    worker.request_close();
    worker.close();
    EXPECT_TRUE(was_stopped);
  }
}

TEST(Worker, GoesOnAfterATaskThatThrows) {
  Worker worker("nf-test");
  std::promise<void> done;
  worker.run([] { throw std::bad_alloc(); });
  worker.run([&] { done.set_value(); });
  done.get_future().wait();
  worker.close();
}

// What fails is reported first: a daemon may end there.
TEST(Worker, ReportsWhatATaskThrows) {
  std::promise<std::string> reported;
  Worker worker("nf-test", [&](const std::exception& error) { reported.set_value(error.what()); });
  worker.run([] { throw DeviceError("the device is gone"); });
  EXPECT_EQ(reported.get_future().get(), "the device is gone");
}

/// Calls itself until its thread's stack is full; the read behind the call keeps each call's part of it.
[[gnu::noinline]] int fill_stack(volatile int& depth) {
  std::array<volatile char, 1024> room;
  room[0] = 1;
  depth = depth + 1;
  const int below = depth == 0 ? 0 : fill_stack(depth);
  return below + room[0];
}

TEST(WorkerDeathTest, AnOverflowOfItsStackLeavesAReport) {
  if (test::kHasSanitizer) {
    return;  // sanitizers have reports of their own
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        report_crashes("test", "1", {});
        Worker worker("nf-test");
        volatile int depth = 0;
        worker.run([&depth] { fill_stack(depth); });
        std::this_thread::sleep_for(std::chrono::minutes(1));
      },
      testing::KilledBySignal(SIGSEGV), ", thread nf-test ");
}

}  // namespace
}  // namespace nearfield::control
