#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "daemon/live/frame_watch.hpp"

namespace nearfield::daemon {
namespace {

/// An engine's thread that passes the boundary until it is told to end.
class Passing {
 public:
  explicit Passing(HopBoundary& boundary)
      : thread_([this, &boundary] {
          while (!stop_) {
            boundary.pass();
          }
          boundary.close();
        }) {}
  ~Passing() { end(); }
  void end() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Of many callers at once each has its work done, on the engine's thread, one after another.
TEST(HopBoundary, RunsEachWorkOnceOnTheEnginesThread) {
  HopBoundary boundary;
  Passing engine(boundary);
  const std::thread::id engine_id = engine.id();
  int done = 0;  // of the engine's thread alone
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 250; ++i) {
        boundary.run([&] { done += std::this_thread::get_id() == engine_id ? 1 : 0; });
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  engine.end();
  EXPECT_EQ(done, 1000);
}

TEST(HopBoundary, RethrowsWhatTheWorkThrowsAndGoesOn) {
  HopBoundary boundary;
  Passing engine(boundary);
  EXPECT_THROW(boundary.run([] { throw std::runtime_error("no"); }), std::runtime_error);
  bool ran = false;
  boundary.run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

// The engine may end at any moment: work is done once all the same, by the caller then.
TEST(HopBoundary, TheCallersThreadWorksWhenTheEngineHasEnded) {
  for (int round = 0; round < 200; ++round) {
    HopBoundary boundary;
    Passing engine(boundary);
    std::atomic<int> done{0};
    std::thread caller([&] {
      for (int i = 0; i < 20; ++i) {
        boundary.run([&] { ++done; });
      }
    });
    engine.end();
    caller.join();
    ASSERT_EQ(done, 20);
    EXPECT_THROW(boundary.run([] { throw std::runtime_error("no"); }), std::runtime_error);
  }
}

}  // namespace
}  // namespace nearfield::daemon
