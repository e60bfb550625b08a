#include "daemon/live_engine.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "daemon/daemon_support.hpp"
#include "nearfield/error.hpp"
#include "stream/fault_injector.hpp"
#include "stream/packet_intake.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::uint64_t kSampleBits = kBitsPerWord;
constexpr std::uint64_t kWindowBits = 128 * kSampleBits;
constexpr std::uint64_t kHopBits = 16 * kSampleBits;

/// What a test feeds, and an engine behind it.
struct Rig {
  explicit Rig(const Settings& settings = test::small_settings(), std::uint64_t elements = 1U << 18U)
      : ring({.words_per_element = test::kSmallWords, .elements = elements, .reorder_elements = 256}),
        publisher({.controllers = &sink, .recorder_bits = &tap}),
        engine(ring, test::small_input(), make_epoch(settings, test::small_input(), 1), publisher,
               {.overload = settings.daemon.overload, .hooks = {}}) {}
  void feed(std::uint64_t first, std::uint64_t count, std::int64_t now_ns = monotonic_ns()) {
    const std::vector<std::uint32_t> words(count * test::kSmallWords, 0x3C5A96F1U);
    ring.store(first, std::as_bytes(std::span(words)), now_ns);
  }
  /// All that is there.
  void run() {
    while (engine.step(0) != LiveEngine::Step::kNothing || engine.step(0) != LiveEngine::Step::kNothing) {
    }
  }
  test::KeepingSink sink;
  test::KeepingTap tap;
  IngestRing ring;
  Publisher publisher;
  LiveEngine engine;
};

std::vector<test::KeptFrame> played(const Settings& settings, LiveInput* input_out = nullptr,
                                    test::KeepingTap* tap = nullptr) {
  const std::unique_ptr<Source> source = make_source(source_settings(settings));
  const LiveInput input = live_input(settings, *source);
  test::KeepingSink sink;
  Publisher publisher({.controllers = &sink, .recorder_bits = tap});
  LiveEngine engine(source->ring(), input, make_epoch(settings, input, 1), publisher,
                    {.overload = settings.daemon.overload, .hooks = {}});
  source->start();
  std::vector<test::KeptFrame> frames = test::run_to_end(engine, sink);
  if (input_out != nullptr) {
    *input_out = input;
  }
  return frames;
}

Settings file_settings(const std::string& path) {
  Settings settings = test::small_settings();
  settings.daemon.source.kind = DaemonSettings::SourceKind::kFile;
  settings.daemon.source.path = path;
  settings.daemon.source.pace = DaemonSettings::Pace::kFast;
  return settings;
}

void expect_as_replayed(const std::vector<test::KeptFrame>& live, const std::vector<ImageFrame>& expected) {
  ASSERT_EQ(live.size(), expected.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(live[i].frame.sequence, i);
    ASSERT_EQ(live[i].frame.first_bit_time, expected[i].first_sample);
    ASSERT_EQ(live[i].frame.flags, expected[i].flags);
    ASSERT_EQ(live[i].images, expected[i].images) << "frame " << i;
  }
}

// The same engine gets the same bits, so that the images are the same to the last bit.
TEST(LiveEngine, FramesOfAFileAreThoseOfReplay) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 64 * kWindowBits);
  const Settings settings = file_settings(folder / "capture.h5");
  expect_as_replayed(played(settings), test::replayed(folder / "capture.h5", settings));
}

TEST(LiveEngine, WindowsFurtherApartThanTheyAreLongRecordEveryBit) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 20 * kWindowBits);
  Settings settings = file_settings(folder / "capture.h5");
  settings.front_end.hop_samples = 200;
  settings.front_end.kind = FrontEndKind::kDecimatedFft;  // wants history before each window
  test::KeepingTap tap;
  const std::vector<test::KeptFrame> frames = played(settings, nullptr, &tap);
  expect_as_replayed(frames, test::replayed(folder / "capture.h5", settings));
  EXPECT_EQ(tap.next_bit_time, frames.back().frame.first_bit_time + kWindowBits);
  EXPECT_EQ(tap.words.size(), tap.next_bit_time * test::kSmallWords);
}

TEST(LiveEngine, BatchesGiveTheFramesOfReplay) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 16 * kWindowBits);
  Settings settings = file_settings(folder / "capture.h5");
  const std::vector<ImageFrame> one_by_one = test::replayed(folder / "capture.h5", settings);
  settings.device.batch = 4;
  const std::vector<test::KeptFrame> frames = played(settings);
  ASSERT_EQ(frames.size(), one_by_one.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(frames[i].frame.first_bit_time, one_by_one[i].first_sample);
    float largest = 0.0F;
    float error = 0.0F;
    for (std::size_t k = 0; k < frames[i].images.size(); ++k) {
      largest = std::max(largest, std::abs(one_by_one[i].images[k]));
      error = std::max(error, std::abs(frames[i].images[k] - one_by_one[i].images[k]));
    }
    ASSERT_LE(error, 1e-5F * largest) << "frame " << i;  // sums of single precision in another order
  }
}

TEST(LiveEngine, SamplesGiveTheFramesOfReplay) {
  const test::TemporaryFolder folder;
  const std::vector<float> values = test::monopole_samples(1024, 1464.84375);
  write_time_data(folder / "samples.h5", kBitRateHz / kBitsPerWord, 64, values);
  const Settings settings = file_settings(folder / "samples.h5");
  LiveInput input;
  const std::vector<test::KeptFrame> frames = played(settings, &input);
  EXPECT_EQ(input.form, InputForm::kSamples);
  expect_as_replayed(frames, test::replayed(folder / "samples.h5", settings));
}

// Seeded losses: the recorder gets every missing bit-time, once.
TEST(LiveEngine, SeededLossesReachTheTapExactly) {
  constexpr std::uint64_t kPacketBits = 100;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Rig rig;
    PacketIntake intake(rig.ring, {.require_crc = true});
    FaultInjector faults(
        {.loss = 0.05, .reorder = 0.05, .duplicate = 0.05, .truncate = 0.02, .flip = 0.02, .seed = seed},
        [&](std::span<const std::byte> packet) { intake.take(packet, monotonic_ns()); });
    const std::vector<std::uint32_t> words(kPacketBits * test::kSmallWords, 0x12345678U);
    std::vector<std::byte> bytes(kMaxPacketBytes);
    constexpr std::uint64_t kPackets = 400;
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      Packet packet{.stream_id = 7,
                    .kind = PayloadKind::kBits,
                    .first_element = 17 + i * kPacketBits,
                    .elements = kPacketBits,
                    .words_per_element = test::kSmallWords,
                    .has_crc = true,
                    .payload = std::as_bytes(std::span(words))};
      const std::span<const std::byte> whole = std::span(bytes).first(write_packet(packet, bytes));
      i == 0 || i + 1 == kPackets ? faults.push_intact(whole) : faults.push(whole);
      rig.run();
    }
    rig.ring.end_stream();
    test::run_to_end(rig.engine, rig.sink);
    SCOPED_TRACE(seed);
    const RingCounters ring = rig.ring.counters();
    EXPECT_EQ(ring.taken, ring.delivered + ring.missing);
    EXPECT_EQ(ring.overrun, 0U);
    std::uint64_t in_tap = 0;
    for (const MissingRun& run : rig.tap.missing) {
      in_tap += run.bit_times;
    }
    EXPECT_EQ(in_tap, ring.missing);
    EXPECT_GT(ring.missing, 0U);
  }
}

TEST(LiveEngine, EachFrameCountsTheMissingOfItsWindow) {
  Rig rig;
  rig.ring.begin_stream(3, 0);
  rig.feed(0, kWindowBits + 100);
  rig.feed(kWindowBits + 150, 4 * kWindowBits);  // 50 bit-times never come
  rig.ring.end_stream();
  const std::vector<test::KeptFrame> frames = test::run_to_end(rig.engine, rig.sink);
  ASSERT_GT(frames.size(), 16U);
  for (const test::KeptFrame& kept : frames) {
    const std::uint64_t first = kept.frame.first_bit_time;
    const std::uint64_t begin = std::max(first, kWindowBits + 100);
    const std::uint64_t end = std::min(first + kWindowBits, kWindowBits + 150);
    const std::uint64_t expected = end > begin ? end - begin : 0;
    EXPECT_EQ(kept.frame.missing_bit_times, expected) << "window from " << first;
    EXPECT_EQ((kept.frame.flags & kFlagMissingBits) != 0, expected > 0);
  }
}

TEST(LiveEngine, WindowsStartAtWholeWordsAlsoAtTheWrapOfBitTimes) {
  Rig rig;
  const std::uint64_t first = 0 - kWindowBits - 5;  // wraps within the first window
  rig.ring.begin_stream(3, first);
  rig.feed(first, 4 * kWindowBits);
  rig.ring.end_stream();
  const std::vector<test::KeptFrame> frames = test::run_to_end(rig.engine, rig.sink);
  ASSERT_GT(frames.size(), 10U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].frame.first_bit_time, 0 - kWindowBits + i * kHopBits);
    EXPECT_EQ(frames[i].frame.missing_bit_times, 0U);
  }
}

TEST(LiveEngine, ARestartBeginsWindowsAnewAndTheSequenceGoesOn) {
  Rig rig;
  rig.ring.begin_stream(3, 0);
  rig.feed(0, 2 * kWindowBits);
  rig.run();
  rig.ring.begin_stream(4, 1000);
  rig.feed(1000, 2 * kWindowBits);
  rig.run();
  ASSERT_EQ(rig.sink.frames.size(), 9U + 8U);
  for (std::size_t i = 0; i < rig.sink.frames.size(); ++i) {
    const LiveFrame& frame = rig.sink.frames[i].frame;
    EXPECT_EQ(frame.sequence, i);
    EXPECT_EQ(frame.stream_id, i < 9 ? 3U : 4U);
    EXPECT_EQ(frame.first_bit_time, i < 9 ? i * kHopBits : 1024 + (i - 9) * kHopBits);
  }
}

// Bits that came long ago are late, whatever this machine's speed: the engine sheds, counts and flags, then recovers.
TEST(LiveEngine, OverloadShedsWholeHopsAndAccountsForThem) {
  for (const FrontEndKind kind : {FrontEndKind::kPopcount, FrontEndKind::kDotProduct, FrontEndKind::kDecimatedFft}) {
    Settings settings = test::small_settings();
    settings.front_end.kind = kind;
    settings.device.batch = 1;
    SCOPED_TRACE(name_of(kind));
    Rig rig(settings);
    constexpr std::int64_t kLongAgoNs = 1'000'000'000;
    constexpr std::uint64_t kBits = 40 * kWindowBits;
    rig.ring.begin_stream(3, 0);
    rig.feed(0, kBits, monotonic_ns() - kLongAgoNs);
    rig.run();
    std::uint64_t hops = 0;
    std::uint64_t shed = 0;
    for (const test::KeptFrame& kept : rig.sink.frames) {
      shed += kept.frame.shed_hops;
      hops += 1 + kept.frame.shed_hops;
      EXPECT_EQ(kept.frame.sequence, hops - 1);
      EXPECT_EQ(kept.frame.first_bit_time, kept.frame.sequence * kHopBits);
      EXPECT_EQ((kept.frame.flags & kFlagOverload) != 0, kept.frame.shed_hops > 0);
      EXPECT_EQ(kept.frame.missing_bit_times, 0U);
    }
    EXPECT_GT(shed, 0U);
    EXPECT_EQ(hops, (kBits - kWindowBits) / kHopBits + 1);
    const RingCounters ring = rig.ring.counters();
    EXPECT_EQ(ring.received, ring.delivered + ring.skipped + ring.pending);
    // The image after a jump is that of its window, as if nothing had been shed: the bits repeat with every word.
    EXPECT_EQ(rig.sink.frames.back().images.size(), rig.sink.frames.front().images.size());
    for (std::size_t i = 0; i < rig.sink.frames.back().images.size(); ++i) {
      EXPECT_TRUE(std::isfinite(std::abs(rig.sink.frames.back().images[i])));
    }
  }
}

TEST(LiveEngine, FramesCarryTheirEpoch) {
  Rig rig;
  rig.ring.begin_stream(3, 0);
  rig.feed(0, 3 * kWindowBits);
  rig.run();
  const std::size_t before = rig.sink.frames.size();
  Settings settings = test::small_settings();
  settings.holography.standoff_m = 0.05;
  std::unique_ptr<Epoch> next = make_epoch(settings, test::small_input(), 2);
  const std::unique_ptr<Epoch> old = rig.engine.swap(std::move(next));
  EXPECT_EQ(old->number, 1U);
  rig.feed(3 * kWindowBits, 3 * kWindowBits);
  rig.run();
  ASSERT_GT(rig.sink.frames.size(), before);
  for (std::size_t i = 0; i < rig.sink.frames.size(); ++i) {
    EXPECT_EQ(rig.sink.frames[i].frame.epoch, i < before ? 1U : 2U);
    EXPECT_EQ(rig.sink.frames[i].frame.missing_bit_times, 0U);
  }
}

}  // namespace
}  // namespace nearfield::daemon
