#include "daemon/live/frame_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "core/system/clocks.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kLong = 60'000 * kMillisecond;

/// True once `holds`, false after half a minute.
template <typename Holds>
bool comes(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return holds();
}

TEST(FrameWatch, ReportsEachFrameThatHangsOnceAndGoesOn) {
  std::atomic<int> hangs{0};
  FrameWatch watch(20 * kMillisecond, [&](std::int64_t age_ns) {
    EXPECT_GT(age_ns, 20 * kMillisecond);
    ++hangs;
    return true;
  });
  watch.begin(monotonic_ns());
  EXPECT_TRUE(comes([&] { return hangs == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(hangs, 1) << "once a frame";
  watch.out();
  watch.begin(monotonic_ns());
  EXPECT_TRUE(comes([&] { return hangs == 2; }));
}

// A new configuration's first frame loads and compiles; the second one has no excuse.
TEST(FrameWatch, ExcusesTheFirstFrameOfAConfiguration) {
  std::atomic<int> hangs{0};
  FrameWatch watch(20 * kMillisecond, [&](std::int64_t) {
    ++hangs;
    return true;
  });
  watch.expect_first(kLong);
  watch.begin(monotonic_ns());
  watch.end();  // a part of it is fed
  watch.begin(monotonic_ns());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(hangs, 0);
  watch.out();
  watch.begin(monotonic_ns());
  EXPECT_TRUE(comes([&] { return hangs == 1; }));
}

TEST(FrameWatch, ExcusesItNoLongerThanItsLimit) {
  std::atomic<int> hangs{0};
  FrameWatch watch(20 * kMillisecond, [&](std::int64_t) {
    ++hangs;
    return false;
  });
  watch.expect_first(100 * kMillisecond);
  watch.begin(monotonic_ns());
  EXPECT_TRUE(comes([&] { return hangs == 1; }));
}

// Frames may begin long after their configuration has come, as no bits do before.
TEST(FrameWatch, CountsTheLimitOfTheFirstFrameFromItsBegin) {
  std::atomic<std::int64_t> hung_ns{0};
  FrameWatch watch(20 * kMillisecond, [&](std::int64_t) {
    hung_ns = monotonic_ns();
    return false;
  });
  watch.expect_first(300 * kMillisecond);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::int64_t begun_ns = monotonic_ns();
  watch.begin(begun_ns);
  EXPECT_TRUE(comes([&] { return hung_ns > 0; }));
  EXPECT_GE(hung_ns, begun_ns + 300 * kMillisecond);
}

}  // namespace
}  // namespace nearfield::daemon
