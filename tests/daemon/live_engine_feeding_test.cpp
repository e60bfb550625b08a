#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"
#include "daemon/live_rig.hpp"

// Hops that are fed before their ends: how the engine's thread waits for a window.
namespace nearfield::daemon {
namespace {

/// No hop is shed and no recording is paused, whatever else this machine does.
Settings polling_settings(std::optional<double> poll_us) {
  Settings settings = test::small_settings();
  settings.device.platform = "Portable";
  settings.daemon->realtime.poll_us = poll_us;
  settings.daemon->overload.shed_hops_ms = 600000.0;
  settings.daemon->overload.pause_recordings_ms = 600000.0;
  return settings;
}

/// A stream that comes in parts of a hop, after each of which the engine looks, with a loss, a packet that comes late,
/// another configuration in the middle of a hop, and another stream in the middle of one.
struct InParts {
  std::vector<test::KeptFrame> frames;
  std::vector<std::uint32_t> recorded;  ///< of the first stream
  std::uint64_t most_waiting = 0;       ///< elements that waited in the ring for a next window, after such a look
};

constexpr std::uint64_t kPart = 100;  ///< no whole samples

InParts in_parts(std::optional<double> poll_us, std::string_view kind, int next_window = 128, int next_hop = 16) {
  constexpr std::uint64_t kLate = 45;
  constexpr std::uint64_t kSwap = 70;
  constexpr std::uint64_t kLost = 90;
  constexpr std::uint64_t kParts = 130;
  Settings settings = polling_settings(poll_us);
  settings.front_end.kind = kind;
  settings.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;
  Rig rig(settings, 1U << 18U);
  InParts found;
  for (const std::uint32_t stream : {3U, 4U}) {
    rig.ring.begin_stream(stream, 0);
    for (std::uint64_t part = 0; part < kParts; ++part) {
      if (part != kLate && part != kLost) {
        rig.feed_noise(part * kPart, kPart);
      }
      rig.run();
      if (part == kLate + 1) {
        rig.feed_noise(kLate * kPart, kPart);
      }
      if (part > 50 && part < kSwap) {
        found.most_waiting = std::max(found.most_waiting, rig.engine.waiting_elements());
      }
      if (part == kSwap && stream == 3) {
        settings.front_end.window_samples = next_window;
        settings.front_end.hop_samples = next_hop;
        EXPECT_EQ(rig.swap(make_epoch(settings, test::small_input(), 2))->number, 1U);
      }
    }
    found.recorded = stream == 3 ? rig.tap.words : found.recorded;
  }
  rig.ring.end_stream();
  while (rig.engine.step(0) != LiveEngine::Step::kEnded) {
  }
  found.frames = std::move(rig.sink.frames);
  return found;
}

void expect_same(const InParts& found, const InParts& expected) {
  ASSERT_EQ(found.frames.size(), expected.frames.size());
  std::uint64_t with_missing = 0;
  for (std::size_t i = 0; i < found.frames.size(); ++i) {
    SCOPED_TRACE(i);
    const Frame& frame = found.frames[i].frame;
    EXPECT_EQ(frame.stream_id, expected.frames[i].frame.stream_id);
    EXPECT_EQ(frame.first_bit_time, expected.frames[i].frame.first_bit_time);
    EXPECT_EQ(frame.missing_bit_times, expected.frames[i].frame.missing_bit_times);
    EXPECT_EQ(frame.epoch, expected.frames[i].frame.epoch);
    expect_same_image(found.frames[i], expected.frames[i]);
    with_missing += frame.missing_bit_times > 0 ? 1 : 0;
  }
  EXPECT_GT(with_missing, 1U);
  EXPECT_EQ(found.frames.back().frame.epoch, 2U);
  EXPECT_EQ(found.frames.back().frame.stream_id, 4U);
  // What of a hop came before the stream gave way is recorded only where it was fed ahead.
  ASSERT_GE(found.recorded.size(), expected.recorded.size());
  EXPECT_TRUE(std::equal(expected.recorded.begin(), expected.recorded.end(), found.recorded.begin()));
}

// What comes before a window's last bits is with the engine already then, and every frame is what it is without.
TEST(LiveEngine, BitsThatAreFedAheadGiveTheSameFrames) {
  for (const std::string_view kind : {"popcount", "decimated_fft"}) {
    SCOPED_TRACE(kind);
    const InParts expected = in_parts(0.0, kind);
    const InParts found = in_parts(1000.0, kind);
    EXPECT_GE(expected.most_waiting, kHopBits - kPart);
    EXPECT_LT(found.most_waiting, kHopBits / 4 + kPart + kSampleBits);
    ASSERT_GT(found.frames.size(), 16U);
    expect_same(found, expected);
  }
}

// Also where a window of the new configuration ends before what was fed ahead of the old one's.
TEST(LiveEngine, ASwapInAHopThatIsPartlyFedGoesOn) {
  for (const auto& [window, hop] : {std::pair{64, 4}, std::pair{64, 8}, std::pair{256, 16}, std::pair{128, 40}}) {
    SCOPED_TRACE(testing::Message() << window << " by " << hop);
    const InParts expected = in_parts(0.0, "popcount", window, hop);
    const InParts found = in_parts(1000.0, "popcount", window, hop);
    expect_same(found, expected);
  }
}

// Also where it came in a part that was fed ahead, and nothing of the last part came.
TEST(LiveEngine, AFrameIsAsOldAsTheNewestOfItsBits) {
  for (const double poll_us : {0.0, 1000.0}) {
    SCOPED_TRACE(poll_us);
    Rig rig(polling_settings(poll_us));
    rig.ring.begin_stream(3, 0);
    rig.feed(0, kWindowBits, 1'000'000);
    rig.run();
    rig.feed(kWindowBits, kHopBits * 3 / 4, 2'000'000);
    rig.run();
    rig.feed(kWindowBits + kHopBits, kHopBits, 3'000'000);
    rig.run();
    ASSERT_EQ(rig.sink.frames.size(), 3U);
    EXPECT_EQ(rig.sink.frames[0].frame.capture_mono_ns, 1'000'000);
    EXPECT_EQ(rig.sink.frames[1].frame.capture_mono_ns, 2'000'000);
    EXPECT_EQ(rig.sink.frames[2].frame.capture_mono_ns, 3'000'000);
  }
}

// Nobody polls where frames come from processors, unless that is wanted.
TEST(LiveEngine, AutoSleepsBesideProcessors) {
  const InParts found = in_parts(std::nullopt, "popcount");
  EXPECT_GE(found.most_waiting, kHopBits - kPart);
}

// While a step waits, parts of a hop are fed near the time at which its end is expected, and not long after it.
TEST(LiveEngine, AHopIsPolledForNearItsExpectedEnd) {
  for (const double poll_us : {1e6, 1.0}) {
    SCOPED_TRACE(poll_us);
    Rig rig(polling_settings(poll_us));
    rig.ring.begin_stream(3, 0);
    rig.feed(0, kWindowBits);
    rig.run();
    ASSERT_EQ(rig.sink.frames.size(), 1U);
    const std::uint64_t taken = rig.ring.counters().taken;
    // The hop's end is expected within a millisecond: with the shorter time the engine sleeps when these bits come.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::uint64_t ahead = 0;
    std::jthread writer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      rig.feed(kWindowBits, kHopBits * 3 / 4);
      for (int i = 0; i < (poll_us > 1.0 ? 900 : 50) && ahead == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ahead = rig.ring.counters().taken - taken;
      }
      rig.feed(kWindowBits + kHopBits * 3 / 4, kHopBits / 4);
    });
    while (rig.engine.step(monotonic_ns() + 10'000'000'000) != LiveEngine::Step::kFrames) {
    }
    writer.join();
    EXPECT_EQ(ahead > 0, poll_us > 1.0);
    EXPECT_EQ(rig.ring.counters().taken - taken, kHopBits);
  }
}

}  // namespace
}  // namespace nearfield::daemon
