#include "bench/common/timing.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace nearfield::bench {
namespace {

TEST(Distribution, TakesNearestRanksOfUnsortedValues) {
  std::vector<double> values(2000);
  std::iota(values.rbegin(), values.rend(), 1.0);  // 2000 ... 1
  const Distribution d = distribution(values);
  EXPECT_EQ(d.count, 2000U);
  EXPECT_EQ(d.minimum, 1.0);
  EXPECT_EQ(d.median, 1000.0);
  EXPECT_EQ(d.p99, 1980.0);
  EXPECT_EQ(d.p999, 1998.0);
  EXPECT_EQ(d.maximum, 2000.0);
}

TEST(Distribution, OfOneValueIsThatValue) {
  const Distribution d = distribution({3.5});
  EXPECT_EQ(d.minimum, 3.5);
  EXPECT_EQ(d.median, 3.5);
  EXPECT_EQ(d.p999, 3.5);
}

TEST(Distribution, OfAnEvenCountIsTheLowerMiddle) { EXPECT_EQ(distribution({4.0, 1.0, 3.0, 2.0}).median, 2.0); }

TEST(Distribution, RefusesNothingAndNonsense) {
  EXPECT_THROW(distribution({}), Error);
  EXPECT_THROW(distribution({1.0, std::numeric_limits<double>::quiet_NaN()}), Error);
}

TEST(TimeFrames, NeedsADeviceOpenedForProfiling) {
  const ocl::Device device = ocl::Device::open({});
  EXPECT_EQ(device.recorder(), nullptr);
  EXPECT_THROW(time_frames(device, {}, {.prepare = [] {}, .phases = {}}), Error);
}

TEST(TimeFrames, TellsStagesOfTheirPhasesApart) {
  const ocl::Device device = ocl::Device::open({}, ocl::Profiling::kOn);
  const std::vector<float> values(1000, 1.0F);
  const ocl::Buffer<float> buffer = device.allocate<float>(values.size(), "test");
  std::vector<float> back(values.size());
  int prepared = 0;
  const auto write = [&] { device.enqueue_write(buffer, 0, std::span<const float>(values), "test"); };
  const auto read = [&] {
    write();
    write();
    device.enqueue_read(buffer, std::span<float>(back), "test");
  };
  const FrameTiming timing =
      time_frames(device, {.warm_up = 1, .repetitions = 7},
                  {.prepare = [&] { ++prepared; }, .phases = {{"first", write}, {"second", read}}});
  EXPECT_EQ(prepared, 1 + 7 + 7);
  EXPECT_EQ(timing.wall_s.count, 7U);
  ASSERT_EQ(timing.stages.size(), 3U);
  EXPECT_EQ(timing.stages[0].stage, "test/write");
  EXPECT_EQ(timing.stages[0].phase, "first");
  EXPECT_EQ(timing.stages[0].commands, 1.0);
  EXPECT_EQ(timing.stages[1].stage, "test/write");
  EXPECT_EQ(timing.stages[1].phase, "second");
  EXPECT_EQ(timing.stages[1].commands, 2.0);
  EXPECT_EQ(timing.stages[1].bytes, 8000.0);
  EXPECT_EQ(timing.stages[2].stage, "test/read");
  EXPECT_EQ(timing.phase_device_s.size(), 2U);
  // Sums of the parts: the whole can't be shorter than a phase.
  EXPECT_GE(timing.device_s.maximum, timing.phase_device_s.at("second").minimum);
  EXPECT_FALSE(device.recorder()->is_active());
}

TEST(Ceilings, ArePositive) {
  const Ceilings ceilings = measure_ceilings(ocl::Device::open({}, ocl::Profiling::kOn), true);
  EXPECT_GT(ceilings.copy_bytes_per_s, 0.0);
  EXPECT_GT(ceilings.write_bytes_per_s, 0.0);
  EXPECT_GT(ceilings.read_bytes_per_s, 0.0);
  EXPECT_GT(ceilings.operations_per_s, 0.0);
  EXPECT_GT(ceilings.launch_and_wait_s, 0.0);
  EXPECT_GE(ceilings.further_launch_s, 0.0);
}

}  // namespace
}  // namespace nearfield::bench
