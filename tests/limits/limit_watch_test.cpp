#include "limits/limit_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/daemon_settings.hpp"
#include "limits/limit_support.hpp"

namespace nearfield::limits {
namespace {

using Limit = DaemonSettings::Limit;

constexpr std::int64_t kFrameNs = 100'000'000;

/// A watch that gets frames of one value each, 0.1 s apart.
class LimitWatchTest : public testing::Test {
 protected:
  void use(const Limit& limit) {
    std::vector<LimitPlan> plans;
    plans.push_back(test::limit_plan(limit));
    watch_.use(std::move(plans));
  }
  /// Whether the frame is flagged.
  bool look(float magnitude) {
    frame_.set_all(magnitude);
    frame_.frame.flags = kFlagClipped;
    frame_.frame.exceeds_recorded_limit = false;
    frame_.frame.capture_mono_ns += kFrameNs;
    ++frame_.frame.sequence;
    frame_.frame.capture_tai_ns = frame_.frame.capture_mono_ns + 5;
    watch_.look(frame_.frame);
    EXPECT_EQ(frame_.frame.flags & ~std::uint32_t{kFlagLimit}, kFlagClipped);
    return (frame_.frame.flags & kFlagLimit) != 0;
  }
  std::vector<bool> look_at(const std::vector<float>& magnitudes) {
    std::vector<bool> flags;
    for (const float magnitude : magnitudes) {
      flags.push_back(look(magnitude));
    }
    return flags;
  }
  test::LimitFrame frame_;
  LimitWatch watch_;
};

// The values cross the limit five times; 6 dB of hysteresis end the exceedance at half of it.
TEST_F(LimitWatchTest, HysteresisMakesOneExceedanceOfSeveralCrossings) {
  use({.name = "loud", .above = 1.0, .hysteresis_db = 6.0205999});
  EXPECT_EQ(look_at({0.9F, 1.1F, 0.8F, 1.5F, 0.6F, 1.2F, 0.4F, 0.9F}),
            (std::vector<bool>{false, true, true, true, true, true, false, false}));
  const std::vector<LimitEvent> events = watch_.collect();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(events[0].begins);
  EXPECT_FLOAT_EQ(static_cast<float>(events[0].value), 1.1F);
  EXPECT_EQ(events[0].tai_ns, 2 * kFrameNs + 5);
  EXPECT_FALSE(events[1].begins);
  EXPECT_FLOAT_EQ(static_cast<float>(events[1].value), 0.4F);
  EXPECT_FLOAT_EQ(static_cast<float>(events[1].largest), 1.5F);
  EXPECT_EQ(events[1].tai_ns, 7 * kFrameNs + 5);
  EXPECT_TRUE(watch_.collect().empty());
  EXPECT_EQ(watch_.events().size(), 2U);
}

// At 0.1 s a frame a hold of 0.2 s takes three frames above, and a release of 0.1 s two below; a value between starts
// the time anew.
TEST_F(LimitWatchTest, HoldAndReleaseAreTimesWithoutABreak) {
  use({.name = "loud", .above = 1.0, .hysteresis_db = 0.0, .hold_s = 0.2, .release_s = 0.1});
  EXPECT_EQ(look_at({2.0F, 2.0F, 0.5F, 2.0F, 2.0F, 2.0F, 0.5F, 2.0F, 0.5F, 0.5F}),
            (std::vector<bool>{false, false, false, false, false, true, true, true, true, false}));
}

// Two frames above the limit of which hold_s takes three, then a break in the stream: the time begins anew.
TEST_F(LimitWatchTest, HoldBeginsAnewAfterAGapOrARestart) {
  const Limit limit{.name = "loud", .above = 1.0, .hysteresis_db = 0.0, .hold_s = 0.2};
  use(limit);
  EXPECT_EQ(look_at({0.5F, 2.0F, 2.0F}), (std::vector<bool>{false, false, false}));
  frame_.frame.sequence += 20;
  frame_.frame.capture_mono_ns += 20 * kFrameNs;
  EXPECT_EQ(look_at({2.0F, 2.0F}), (std::vector<bool>{false, false}));
  ++frame_.frame.stream_id;
  EXPECT_EQ(look_at({2.0F, 2.0F, 2.0F}), (std::vector<bool>{false, false, true}));
}

// Frames that keep coming 20 hops apart, as the engine sheds the others, are the usual ones after a while.
TEST_F(LimitWatchTest, FramesThatStayFarApartAreNoGaps) {
  use({.name = "loud", .above = 1.0, .hold_s = 0.1});
  look_at({0.5F, 0.5F});
  bool is_above = false;
  for (int i = 0; i < 10; ++i) {
    frame_.frame.sequence += 19;
    is_above = look(2.0F);
  }
  EXPECT_TRUE(is_above);
}

TEST_F(LimitWatchTest, AFrameThatIsMostlyMissingSaysNothing) {
  use({.name = "loud", .above = 1.0});
  EXPECT_TRUE(look(2.0F));
  frame_.frame.window_bit_times = 100;
  frame_.frame.missing_bit_times = 51;
  EXPECT_TRUE(look(0.0F));
  EXPECT_TRUE(watch_.states().at(0).is_above);
  frame_.frame.missing_bit_times = 50;
  EXPECT_FALSE(look(0.0F));
}

TEST_F(LimitWatchTest, AFrameOfAnotherProcessorHasNoFlagAndBeginsRecordingsAllTheSame) {
  use({.name = "loud", .above = 1.0, .record = true});
  EXPECT_TRUE(look(2.0F));
  EXPECT_TRUE(frame_.frame.exceeds_recorded_limit);
  frame_.frame.processor = 1;
  EXPECT_FALSE(look(0.0F));
  EXPECT_TRUE(frame_.frame.exceeds_recorded_limit);
  frame_.frame.processor = 0;
  EXPECT_FALSE(look(0.0F));
  EXPECT_FALSE(frame_.frame.exceeds_recorded_limit);
}

TEST_F(LimitWatchTest, AFrameWithoutANumberSaysNothing) {
  use({.name = "loud", .above = 1.0});
  EXPECT_TRUE(look(2.0F));
  EXPECT_TRUE(look(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_FALSE(look(0.0F));
}

TEST_F(LimitWatchTest, ALimitThatStaysKeepsItsStateAndOneThatChangesIsLeft) {
  use({.name = "loud", .above = 1.0});
  EXPECT_TRUE(look(2.0F));
  use({.name = "loud", .above = 1.0});
  EXPECT_TRUE(look(0.9F));
  EXPECT_EQ(watch_.collect().size(), 1U);
  use({.name = "loud", .above = 5.0});
  EXPECT_FALSE(look(2.0F));
  std::vector<LimitEvent> events = watch_.collect();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_FALSE(events[0].begins);
  EXPECT_TRUE(look(6.0F));
  EXPECT_EQ(watch_.states().at(0).events, 2U);
  watch_.use({});
  EXPECT_FALSE(look(6.0F));
  EXPECT_EQ(watch_.collect().size(), 2U);
  EXPECT_TRUE(watch_.states().empty());
}

// Neither the queue nor the list grows: what nobody collects is counted.
TEST_F(LimitWatchTest, EventsAreBounded) {
  use({.name = "loud", .above = 1.0});
  for (std::size_t i = 0; i < LimitWatch::kMostPending; ++i) {
    look(2.0F);
    look(0.0F);
  }
  EXPECT_EQ(watch_.dropped(), LimitWatch::kMostPending);
  EXPECT_EQ(watch_.collect().size(), LimitWatch::kMostPending);
  EXPECT_EQ(watch_.events().size(), LimitWatch::kMostEvents);
  EXPECT_TRUE(look(2.0F));
  EXPECT_EQ(watch_.collect().size(), 1U);
}

TEST_F(LimitWatchTest, WordsNameValueAndPlace) {
  use({.name = "loud", .point_m = std::vector<double>{0.05, 0.1}, .frequency_hz = 1000.0, .above = 1.0});
  look(2.0F);
  look(0.5F);
  const std::vector<LimitEvent> events = watch_.collect();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(text_of(events[0]), "limit loud is exceeded: 2 Pa at z 0 m, frequency 1000 Hz, y 0.1 m, x 0.05 m");
  EXPECT_EQ(text_of(events[1]),
            "limit loud is left: 0.5 Pa; the largest value was 2 Pa at z 0 m, frequency 1000 Hz, y 0.1 m, x 0.05 m");
  const nlohmann::json json = json_of(events[0]);
  EXPECT_EQ(json.at("event"), "begin");
  EXPECT_EQ(json.at("position").at("frequency"), 1000.0);
  EXPECT_EQ(json_of(watch_.states().at(0)).at("state"), "ok");
}

}  // namespace
}  // namespace nearfield::limits
