#include "ring/stress.hpp"

#include <gtest/gtest.h>

namespace nearfield::test {
namespace {

/// The short form of `ring_stress --kills 200`.
TEST(RingStress, StoppedAndKilledReadersSeeNothingTornOrOldAndHoldNobodyUp) {
  StressOptions options;
  options.kills = 20;
  options.baseline_frames = 200;
  const StressReport report = run_stress(options);
  EXPECT_EQ(report.torn, 0U);
  EXPECT_EQ(report.too_old, 0U);
  EXPECT_EQ(report.out_of_order, 0U);
  EXPECT_EQ(report.failed, 0U);
  EXPECT_EQ(report.kills, 20U);
  EXPECT_GT(report.kills_inside, 0U);
  EXPECT_GT(report.stops, 10U);
  EXPECT_GT(report.skipped, 0U) << "no reader was overtaken: the stops were too short to show anything";
  EXPECT_GT(report.frames_read, 1000U);
  EXPECT_GT(report.woken.count, 0U);
}

}  // namespace
}  // namespace nearfield::test
