#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/daemon_settings.hpp"
#include "daemon/device_check.hpp"
#include "daemon/live_rig.hpp"
#include "devices/two_devices.hpp"

/// Live, on two devices.
namespace nearfield::daemon {
namespace {

using test::device_name;
using test::two_device_settings;
using test::with_processors;
using testing::StartsWith;

std::unique_ptr<Rig> live_run_of(const std::vector<std::string>& lines) {
  auto rig = std::make_unique<Rig>(with_processors(two_device_settings(), lines), 1U << 18U, patient_input());
  rig->ring.begin_stream(3, 0);
  rig->feed_noise(0, 20 * kHopBits);
  rig->feed_noise(60 * kHopBits + 7 * kSampleBits, 20 * kHopBits);
  rig->run();
  return rig;
}

TEST(LiveDevices, AProcessorElsewhereMakesTheSameFrames) {
  std::vector<std::string> lines = {"processors.far.kind=row_power", "processors.far.every_hops=2",
                                    "processors.far.front_end.window_samples=192", "processors.near.kind=row_power"};
  const auto expected = live_run_of(lines);
  lines.emplace_back("processors.far.device=0");
  lines.emplace_back("processors.near.device=0");
  const auto found = live_run_of(lines);
  ASSERT_EQ(found->sink.frames.size(), expected->sink.frames.size());
  for (std::size_t i = 0; i < found->sink.frames.size(); ++i) {
    EXPECT_EQ(found->sink.frames[i].images, expected->sink.frames[i].images) << i;
    EXPECT_EQ(found->sink.frames[i].frame.flags, expected->sink.frames[i].frame.flags) << i;
  }
  ASSERT_EQ(found->sink.others.size(), expected->sink.others.size());
  ASSERT_GT(found->sink.others.size(), 20U);
  for (std::size_t i = 0; i < found->sink.others.size(); ++i) {
    const test::KeepingOutput::Other& one = found->sink.others[i];
    const test::KeepingOutput::Other& same = expected->sink.others[i];
    EXPECT_EQ(one.frame.processor, same.frame.processor);
    EXPECT_EQ(one.frame.sequence, same.frame.sequence);
    EXPECT_EQ(one.frame.first_bit_time, same.frame.first_bit_time);
    EXPECT_EQ(one.frame.flags, same.frame.flags);
    EXPECT_EQ(one.products, same.products) << i;
  }
}

// Images come hop by hop while the other device stands still. A map that is due meanwhile is left out and counted in
// the next one, and what was begun comes when it is there.
TEST(LiveDevices, AMapThatIsLateElsewhereDelaysNoImage) {
  Settings settings = test::held_settings({"processors.far.kind=row_power", "processors.far.every_hops=2"});
  settings.daemon->overload = {.pause_dashboards_ms = 1e6, .pause_recordings_ms = 1e6, .shed_hops_ms = 1e6};
  const LiveInput input = test::small_input();
  std::unique_ptr<Epoch> epoch = make_epoch(settings, input, 1);
  test::HeldEngine held = test::held_engine(epoch->plan);
  epoch->engine = std::move(held.engine);
  Rig rig(std::move(epoch), settings, 1U << 18U, input, 256);
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, kWindowBits - kHopBits);
  constexpr std::uint64_t kHopsHeld = 5;  // fewer than the memory of a device apart holds
  std::uint64_t fed = kWindowBits - kHopBits;
  const auto hops = [&](std::uint64_t count) {
    for (std::uint64_t hop = 0; hop < count; ++hop) {
      rig.feed_noise(fed, kHopBits);
      fed += kHopBits;
      rig.run();
    }
  };
  hops(kHopsHeld);
  EXPECT_EQ(rig.sink.frames.size(), kHopsHeld) << "an image a hop";
  EXPECT_TRUE(rig.sink.others.empty());
  held.held->let_go();
  rig.engine.finish_late();
  ASSERT_EQ(rig.sink.others.size(), 1U) << "the map of sequence 0";
  hops(2);
  rig.engine.finish_late();
  EXPECT_EQ(rig.sink.frames.size(), kHopsHeld + 2);
  ASSERT_EQ(rig.sink.others.size(), 2U) << "those of sequences 2 and 4 were left out";
  EXPECT_EQ(rig.sink.others[0].frame.sequence, 0U);
  EXPECT_EQ(rig.sink.others[1].frame.sequence, 6U);
  EXPECT_EQ(rig.sink.others[1].frame.shed_hops, 4U);
  EXPECT_NE(rig.sink.others[1].frame.flags & kFlagOverload, 0U);
}

TEST(LiveDevices, ACheckNamesThem) {
  const auto findings_of = [](const std::string& device) {
    return device_findings(with_processors(
        two_device_settings(),
        {"processors.far.kind=row_power", "processors.near.kind=row_power", "processors.far.device=" + device}));
  };
  const std::vector<control::Finding> found = findings_of("0");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].text, StartsWith("device: " + device_name(1)));
  EXPECT_THAT(found[1].text, StartsWith("device of far: " + device_name(0)));
  const std::vector<control::Finding> problem = findings_of("nowhere");
  ASSERT_FALSE(problem.empty());
  EXPECT_EQ(problem.back().kind, control::Finding::Kind::kProblem);
  EXPECT_THAT(problem.back().text, StartsWith("processors.far.device: \"nowhere\": no OpenCL device matches"));
}

}  // namespace
}  // namespace nearfield::daemon
