#include "daemon/background/background_worker.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <new>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "core/stoppable.hpp"

namespace nearfield::daemon {
namespace {

// What becomes due while a task runs waits for it, runs once however often run() was called, and in the order of add().
TEST(BackgroundWorker, RunsWhatIsDueOnceAndInOrder) {
  BackgroundWorker worker("nf-test");
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> done;
  std::string order;  // of the worker's thread, read after close()
  const std::size_t slow = worker.add([&] {
    order += "s";
    begun.set_value();
    go_on.get_future().wait();
  });
  const std::size_t first = worker.add([&] { order += "1"; });
  const std::size_t second = worker.add([&] {
    order += "2";
    done.set_value();
  });
  worker.run(slow);
  begun.get_future().wait();
  worker.run(second);
  worker.run(first);
  worker.run(first);
  go_on.set_value();
  done.get_future().wait();
  worker.close();
  EXPECT_EQ(order, "s12");
}

TEST(BackgroundWorker, LeavesWhatIsDueWhenItCloses) {
  BackgroundWorker worker("nf-test");
  std::promise<void> begun;
  std::promise<void> go_on;
  int runs = 0;
  const std::size_t slow = worker.add([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  const std::size_t other = worker.add([&] { ++runs; });
  worker.run(slow);
  begun.get_future().wait();
  worker.run(other);
  std::thread closing([&] { worker.close(); });
  while (!worker.is_closing()) {
    std::this_thread::yield();
  }
  go_on.set_value();
  closing.join();
  EXPECT_EQ(runs, 0);
}

// Whether the task catches it, or the worker does.
TEST(BackgroundWorker, CancelsTheTaskThatRuns) {
  for (const bool catches : {true, false}) {
    BackgroundWorker worker("nf-test");
    std::promise<void> begun;
    bool was_stopped = false;  // of the worker's thread, read after close()
    const std::size_t task = worker.add([&] {
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
    worker.run(task);
    begun.get_future().wait();
    worker.request_close();
    worker.close();
    EXPECT_TRUE(was_stopped);
  }
}

TEST(BackgroundWorker, GoesOnAfterATaskThatThrows) {
  BackgroundWorker worker("nf-test");
  std::promise<void> done;
  const std::size_t fails = worker.add([] { throw std::bad_alloc(); });
  const std::size_t works = worker.add([&] { done.set_value(); });
  worker.run(fails);
  worker.run(works);
  done.get_future().wait();
  worker.close();
}

// As on the engine's thread: at once, with the code of a device error.
TEST(BackgroundWorkerDeathTest, EndsTheProcessAtADeviceError) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        BackgroundWorker worker("nf-test");
        worker.run(worker.add([] { throw DeviceError("the device is gone"); }));
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(69), "the device is gone; ending with code 69");
}

}  // namespace
}  // namespace nearfield::daemon
