#include "daemon/live/live_engine.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <thread>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "daemon/live_rig.hpp"
#include "stream/packets/packet_intake.hpp"
#include "stream/sending/packet_sender.hpp"
#include "support/images.hpp"

namespace nearfield::daemon {
namespace {

std::vector<test::KeptFrame> played(const Settings& settings, LiveInput* input_out = nullptr,
                                    test::KeepingTap* tap = nullptr) {
  const std::unique_ptr<Source> source = make_source(source_settings(settings));
  const LiveInput input = live_input(settings, *source);
  test::KeepingOutput sink;
  Publisher publisher;
  publisher.set(Publisher::Priority::kController, &sink);
  publisher.set_bits(tap);
  LiveEngine engine(source->ring(), input, make_epoch(settings, input, 1), publisher,
                    {.overload = settings.daemon->overload, .hooks = {}});
  publisher.begin(*engine.epoch().engine, 1);
  source->start();
  std::vector<test::KeptFrame> frames = test::run_to_end(engine, sink);
  if (input_out != nullptr) {
    *input_out = input;
  }
  return frames;
}

/// However slow this machine is. Hops go too when dashboards have had to wait for long, so that their limit counts.
constexpr DaemonSettings::Overload kNothingIsShed{
    .pause_dashboards_ms = 1e12, .pause_recordings_ms = 1e12, .shed_hops_ms = 1e12};

Settings file_settings(const std::string& path) {
  Settings settings = test::small_settings();
  settings.daemon->source.kind = DaemonSettings::SourceKind::kFile;
  settings.daemon->source.path = path;
  settings.daemon->source.pace = DaemonSettings::Pace::kFast;
  return settings;
}

void expect_as_replayed(const std::vector<test::KeptFrame>& live, const std::vector<ImageFrame>& expected) {
  ASSERT_EQ(live.size(), expected.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(live[i].frame.sequence, i);
    ASSERT_EQ(live[i].frame.first_bit_time, expected[i].first_sample);
    ASSERT_EQ(live[i].frame.flags, expected[i].flags);
    ASSERT_EQ(live[i].images, expected[i].images) << "frame " << i;
    ASSERT_EQ(live[i].points, expected[i].points) << "frame " << i;
  }
}

// The same engine gets the same bits, so that the images are the same to the last bit.
TEST(LiveEngine, FramesOfAFileAreThoseOfReplay) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 64 * kWindowBits);
  const Settings settings = file_settings(folder / "capture.h5");
  expect_as_replayed(played(settings), test::replayed(folder / "capture.h5", settings));
}

TEST(LiveEngine, PointsAreThoseOfReplay) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 8 * kWindowBits);
  Settings settings = file_settings(folder / "capture.h5");
  settings.holography.points = {{.x_m = 0.013, .y_m = -0.021}, {.x_m = 0.0, .y_m = 0.05}};
  settings.holography.planes_m = {0.0, 0.01};
  const std::vector<test::KeptFrame> frames = played(settings);
  ASSERT_FALSE(frames.empty());
  ASSERT_EQ(frames.front().points.size(), 4U);
  expect_as_replayed(frames, test::replayed(folder / "capture.h5", settings));
}

TEST(LiveEngine, WindowsFurtherApartThanTheyAreLongRecordEveryBit) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 20 * kWindowBits);
  Settings settings = file_settings(folder / "capture.h5");
  settings.front_end.hop_samples = 200;
  settings.front_end.kind = "decimated_fft";  // wants history before each window
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

// An FPGA's stream: the frames are those of the same samples in a file, over UDP and through a pipe.
TEST(LiveEngine, SamplesOfSocketsAndPipesGiveTheFramesOfAFile) {
  const test::TemporaryFolder folder;
  const std::vector<float> values = test::monopole_samples(1024, 1464.84375);
  write_time_data(folder / "samples.h5", kBitRateHz / kBitsPerWord, 64, values);
  const std::vector<ImageFrame> expected = test::replayed(folder / "samples.h5", file_settings(folder / "samples.h5"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const auto kind : {DaemonSettings::SourceKind::kUdp, DaemonSettings::SourceKind::kPipe}) {
    Settings settings = test::small_settings();
    settings.daemon->source.kind = kind;
    settings.daemon->source.payload = DaemonSettings::Payload::kSamples;
    settings.daemon->source.sample_rate_hz = kBitRateHz / kBitsPerWord;
    settings.daemon->source.address = "127.0.0.1:0";
    settings.daemon->source.path = folder / "pipe";
    settings.daemon->source.reorder_bit_times = 0;
    settings.daemon->overload = kNothingIsShed;
    const std::unique_ptr<Source> source = make_source(source_settings(settings));
    const LiveInput input = live_input(settings, *source);
    EXPECT_EQ(input.form, InputForm::kSamples);
    EXPECT_EQ(input.element_rate_hz, kBitRateHz / kBitsPerWord);
    test::KeepingOutput sink;
    Publisher publisher;
    publisher.set(Publisher::Priority::kController, &sink);
    LiveEngine engine(source->ring(), input, make_epoch(settings, input, 1), publisher,
                      {.overload = settings.daemon->overload, .hooks = {}});
    publisher.begin(*engine.epoch().engine, 1);
    source->start();
    const std::jthread sender([&] {
      if (kind == DaemonSettings::SourceKind::kUdp) {
        send_packets(Playback::of(folder / "samples.h5"),
                     {.to = fmt::format("127.0.0.1:{}", source->port()), .elements_per_packet = 7},
                     [] { return false; });
      } else {
        std::ofstream(folder / "pipe", std::ios::binary)
            .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
      }
    });
    const std::int64_t patience_ns = monotonic_ns() + 60'000'000'000;
    while (sink.frames.size() < expected.size() && monotonic_ns() < patience_ns) {
      engine.step(monotonic_ns() + 100'000'000);
    }
    expect_as_replayed(sink.frames, expected);
  }
}

// A sound card's floats are full scale: with its pascal in the settings the frames are those of the same samples in Pa.
TEST(LiveEngine, SamplesInUnitsOfTheirOwnGiveTheFramesOfPascal) {
  constexpr double kPascalPerUnit = 31.7;
  const test::TemporaryFolder folder;
  std::vector<float> units = test::monopole_samples(1024, 1464.84375);
  std::vector<float> pascal;
  for (float& unit : units) {
    unit *= 0.01F;
    pascal.push_back(static_cast<float>(static_cast<double>(unit) * kPascalPerUnit));
  }
  constexpr double kRate_hz = 48'000.0;  // neither the clock nor the decimation says it
  write_time_data(folder / "pascal.h5", kRate_hz, 64, pascal);
  const std::vector<ImageFrame> expected = test::replayed(folder / "pascal.h5", file_settings(folder / "pascal.h5"));
  std::ofstream(folder / "units.raw", std::ios::binary)
      .write(reinterpret_cast<const char*>(units.data()), static_cast<std::streamsize>(units.size() * sizeof(float)));
  Settings settings = test::small_settings();
  settings.array.pascal_per_unit = kPascalPerUnit;
  settings.daemon->source.kind = DaemonSettings::SourceKind::kPipe;
  settings.daemon->source.payload = DaemonSettings::Payload::kSamples;
  settings.daemon->source.sample_rate_hz = kRate_hz;
  settings.daemon->source.path = folder / "units.raw";
  settings.daemon->source.reorder_bit_times = 0;
  settings.daemon->overload = kNothingIsShed;
  const std::unique_ptr<Source> source = make_source(source_settings(settings));
  const LiveInput input = live_input(settings, *source);
  EXPECT_EQ(input.element_rate_hz, kRate_hz);
  EXPECT_EQ(input.rate_from, "daemon.source.sample_rate_hz");
  test::KeepingOutput sink;
  Publisher publisher;
  publisher.set(Publisher::Priority::kController, &sink);
  LiveEngine engine(source->ring(), input, make_epoch(settings, input, 1), publisher,
                    {.overload = settings.daemon->overload, .hooks = {}});
  publisher.begin(*engine.epoch().engine, 1);
  source->start();
  const std::int64_t patience_ns = monotonic_ns() + 60'000'000'000;
  while (sink.frames.size() < expected.size() && monotonic_ns() < patience_ns) {
    engine.step(monotonic_ns() + 100'000'000);
  }
  expect_as_replayed(sink.frames, expected);
}

/// A seeded stream of packets with faults on their way, and which of its bit-times came sound.
struct FaultyStream {
  static constexpr std::uint64_t kPacketBits = 100;
  static constexpr std::uint64_t kPackets = 400;
  static constexpr std::uint64_t kFirst = 17;
  std::vector<bool> came = std::vector<bool>(kPackets * kPacketBits, false);

  /// Each seed is a stream of its own.
  void send(std::uint32_t seed, PacketIntake& intake, const std::function<void()>& after_each) {
    const std::vector<std::uint32_t> words(kPacketBits * test::kSmallWords, 0x12345678U);
    std::vector<std::vector<std::byte>> sound;
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      const Packet packet{.stream_id = seed,
                          .kind = PayloadKind::kBits,
                          .first_element = kFirst + i * kPacketBits,
                          .elements = kPacketBits,
                          .words_per_element = test::kSmallWords,
                          .has_crc = true,
                          .payload = std::as_bytes(std::span(words))};
      sound.emplace_back(kMaxPacketBytes);
      sound.back().resize(write_packet(packet, sound.back()));
    }
    FaultInjector faults({.loss = seed % 2 == 0 ? 0.05 : 0.002,
                          .reorder = 0.05,
                          .duplicate = 0.05,
                          .truncate = 0.002,
                          .flip = 0.002,
                          .seed = seed},
                         [&](std::span<const std::byte> datagram) {
                           for (std::uint64_t i = 0; i < kPackets; ++i) {
                             if (std::equal(sound[i].begin(), sound[i].end(), datagram.begin(), datagram.end())) {
                               std::fill_n(came.begin() + static_cast<std::ptrdiff_t>(i * kPacketBits), kPacketBits,
                                           true);
                             }
                           }
                           intake.take(datagram, {.from = {}, .after_ns = monotonic_ns(), .now_ns = monotonic_ns()});
                         });
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      i == 0 || i + 1 == kPackets ? faults.push_intact(sound[i]) : faults.push(sound[i]);
      after_each();
    }
  }
  /// Bit-times of [first, first + count) that never came.
  [[nodiscard]] std::uint64_t missing(std::uint64_t first, std::uint64_t count) const {
    const auto begin = came.begin() + static_cast<std::ptrdiff_t>(first - kFirst);
    return static_cast<std::uint64_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(count), false));
  }
};

// Injected = flagged: in each frame the bit-times of its window that were lost on the way, and in the recorder all.
TEST(LiveEngine, SeededLossesAreFlaggedExactlyInEachFrame) {
  constexpr std::uint32_t kSeeds = 48;
  constexpr std::uint64_t kReorder = 4096;  // more than the injector ever holds a packet back
  Rig rig(test::small_settings(), 1U << 18U, patient_input(), kReorder);
  std::uint64_t flagged = 0;
  std::uint64_t whole = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    rig.sink.frames.clear();
    rig.tap.missing.clear();
    const RingCounters before = rig.ring.counters();
    PacketIntake intake(rig.ring, intake_settings({.require_crc = true}));
    FaultyStream stream;
    stream.send(seed, intake, [&] { rig.run(); });
    rig.ring.end_stream();
    while (rig.engine.step(0) != LiveEngine::Step::kEnded) {
    }
    const std::uint64_t bits = FaultyStream::kPackets * FaultyStream::kPacketBits;
    ASSERT_EQ(rig.sink.frames.size(), (bits - kWindowBits - (kHopBits - FaultyStream::kFirst)) / kHopBits + 1);
    for (const test::KeptFrame& kept : rig.sink.frames) {
      const Frame& frame = kept.frame;
      ASSERT_EQ(frame.stream_id, seed);
      ASSERT_EQ(frame.missing_bit_times, stream.missing(frame.first_bit_time, kWindowBits)) << frame.first_bit_time;
      ASSERT_EQ((frame.flags & kFlagMissingBits) != 0, frame.missing_bit_times > 0);
      flagged += frame.missing_bit_times > 0 ? 1 : 0;
      whole += frame.missing_bit_times == 0 ? 1 : 0;
    }
    const RingCounters ring = rig.ring.counters();
    EXPECT_EQ(ring.taken, ring.delivered + ring.missing);
    EXPECT_EQ(ring.overrun, 0U);
    std::uint64_t in_tap = 0;
    for (const MissingRun& run : rig.tap.missing) {
      in_tap += run.bit_times;
    }
    EXPECT_EQ(in_tap, ring.missing - before.missing);
  }
  EXPECT_GT(std::min(flagged, whole), 100U);  // enough of both that neither could be given to all
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

TEST(LiveEngine, WindowsStartAtMultiplesOfTheHopAlsoAtTheWrapOfBitTimes) {
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
  Rig rig(test::small_settings(), 1U << 18U, patient_input());  // its clock is the bits', not this machine's
  rig.ring.begin_stream(3, 0);
  rig.feed(0, 2 * kWindowBits);
  rig.run();
  rig.ring.begin_stream(4, 1000);
  rig.feed(1000, 2 * kWindowBits);
  rig.run();
  ASSERT_EQ(rig.sink.frames.size(), 9U + 8U);
  for (std::size_t i = 0; i < rig.sink.frames.size(); ++i) {
    const Frame& frame = rig.sink.frames[i].frame;
    EXPECT_EQ(frame.sequence, i);
    EXPECT_EQ(frame.stream_id, i < 9 ? 3U : 4U);
    EXPECT_EQ(frame.first_bit_time, i < 9 ? i * kHopBits : 1024 + (i - 9) * kHopBits);
  }
}

/// The arrival time of a bit-time, by the microphones' clock alone, ns.
std::int64_t stamp(std::uint64_t bit_times) {
  return 1 + std::llround(static_cast<double>(bit_times) * 1e9 / kBitRateHz);
}

/// However long ago the stamps are.
Settings settings_that_never_shed() {
  Settings settings = test::small_settings();
  settings.daemon->overload = kNothingIsShed;
  return settings;
}

// Stamps say how long no stream was there: the first frame after it counts the hops that would have come.
TEST(LiveEngine, TimeWithoutAStreamIsMissingAndFlagged) {
  Rig rig(settings_that_never_shed());
  rig.ring.begin_stream(3, 0);
  rig.feed(0, kWindowBits, stamp(kWindowBits));
  rig.run();
  ASSERT_EQ(rig.sink.frames.size(), 1U);
  constexpr std::uint64_t kAway = 100 * kHopBits;  // from the old stream's last bit to the new one's first
  rig.ring.begin_stream(4, 77'000'000 * kSampleBits);
  rig.feed(77'000'000 * kSampleBits, kWindowBits, stamp(2 * kWindowBits + kAway));
  rig.feed(77'000'000 * kSampleBits + kWindowBits, kHopBits, stamp(2 * kWindowBits + kAway + kHopBits));
  rig.run();
  ASSERT_EQ(rig.sink.frames.size(), 3U);
  const Frame& frame = rig.sink.frames[1].frame;
  EXPECT_EQ(frame.stream_id, 4U);
  EXPECT_EQ(frame.shed_hops, (kAway + kWindowBits) / kHopBits - 1);
  EXPECT_EQ(frame.sequence, 1 + frame.shed_hops);
  EXPECT_EQ(frame.flags & kFlagOverload, kFlagOverload);
  EXPECT_EQ(rig.sink.frames[2].frame.shed_hops, 0U);
  const RingCounters ring = rig.ring.counters();
  EXPECT_NEAR(static_cast<double>(ring.missing), kAway, 1.0);  // the stamps are whole nanoseconds
  EXPECT_EQ(ring.taken, ring.delivered + ring.missing);
}

// What the engine passes over of the new stream before its first frame is no absence too.
TEST(LiveEngine, HopsPassedOverAtARestartAreCountedOnce) {
  Rig rig(settings_that_never_shed());
  rig.ring.begin_stream(3, 0);
  rig.feed(0, kWindowBits, stamp(kWindowBits));
  rig.run();
  ASSERT_EQ(rig.sink.frames.size(), 1U);
  constexpr std::uint64_t kAway = 100 * kHopBits;
  constexpr std::uint64_t kEmpty = kWindowBits + 10 * kHopBits;  // eleven windows of which nothing comes
  constexpr std::uint64_t kFirst = 77'000'000 * kSampleBits;
  rig.ring.begin_stream(4, kFirst);
  rig.feed(kFirst + kEmpty, kHopBits, stamp(kWindowBits + kAway + kEmpty + kHopBits));
  rig.feed(kFirst + kEmpty + kHopBits, kHopBits, stamp(kWindowBits + kAway + kEmpty + 2 * kHopBits));
  rig.run();  // begins the stream and passes over the empty windows
  rig.run();
  ASSERT_GE(rig.sink.frames.size(), 2U);
  const Frame& frame = rig.sink.frames[1].frame;
  EXPECT_EQ(frame.first_bit_time, kFirst + 11 * kHopBits);
  EXPECT_EQ(frame.shed_hops, (kAway + kWindowBits) / kHopBits - 1 + 11);
  EXPECT_NEAR(static_cast<double>(rig.ring.counters().missing), kAway + kEmpty, 1.0);
}

/// Windows that hold something are imaged and say what they miss; those that hold nothing become one step, whatever the
/// gap's length is, and are missing also to the recorder.
TEST(LiveEngine, GapsAreSteppedOver) {
  for (const std::uint64_t gap : {3 * kWindowBits + 100, 40 * kWindowBits + 7, 3000 * kWindowBits}) {
    for (const int hop : {16, 200}) {  // windows that overlap, and windows apart
      SCOPED_TRACE(testing::Message() << gap << " bit-times, hop " << hop);
      Settings settings = test::small_settings();
      settings.front_end.hop_samples = hop;
      const std::uint64_t hop_bits = static_cast<std::uint64_t>(hop) * kSampleBits;
      Rig rig(settings, 1U << 18U, patient_input());
      constexpr std::uint64_t kBefore = 4 * kWindowBits + 500;
      const std::uint64_t end = kBefore + gap + 5 * kWindowBits;
      rig.ring.begin_stream(3, 0);
      rig.feed(0, kBefore);
      rig.run();
      rig.feed(kBefore + gap, end - kBefore - gap);
      rig.ring.end_stream();
      const std::vector<test::KeptFrame> frames = test::run_to_end(rig.engine, rig.sink);
      // The jump overwrites what is left of the last hop where it is longer than the ring.
      const std::uint64_t lost = rig.ring.counters().abandoned;
      EXPECT_LT(lost, hop_bits + 1);
      EXPECT_EQ(lost > 0, gap > rig.ring.settings().elements);
      const std::uint64_t last_before = kBefore - lost;
      std::uint64_t hops = 0;
      std::uint64_t shed = 0;
      for (const test::KeptFrame& kept : frames) {
        const Frame& frame = kept.frame;
        hops += 1 + frame.shed_hops;
        shed += frame.shed_hops;
        ASSERT_EQ(frame.sequence, hops - 1);
        ASSERT_EQ(frame.first_bit_time, frame.sequence * hop_bits);
        ASSERT_EQ((frame.flags & kFlagOverload) != 0, frame.shed_hops > 0);
        const std::uint64_t first = std::max(frame.first_bit_time, last_before);
        const std::uint64_t until = std::min(frame.first_bit_time + kWindowBits, kBefore + gap);
        const std::uint64_t missing = until > first ? until - first : 0;
        ASSERT_EQ(frame.missing_bit_times, missing) << "window from " << frame.first_bit_time;
        ASSERT_LT(missing, kWindowBits) << "nothing of this window came";
        ASSERT_EQ((frame.flags & kFlagMissingBits) != 0, missing > 0);
      }
      EXPECT_EQ(hops, (end - kWindowBits) / hop_bits + 1);
      EXPECT_GE(shed, (gap - kWindowBits) / hop_bits - 1);
      const RingCounters ring = rig.ring.counters();
      EXPECT_EQ(ring.received, ring.delivered + ring.skipped + ring.abandoned + ring.pending);
      EXPECT_EQ(ring.missing, gap + lost);
      EXPECT_EQ(ring.taken, ring.delivered + ring.missing);
      EXPECT_EQ(ring.overrun, 0U);
      std::uint64_t in_tap = rig.tap.gaps[GapCause::kNotSent];
      for (const MissingRun& run : rig.tap.missing) {
        in_tap += run.bit_times;
      }
      EXPECT_EQ(in_tap, gap);
      EXPECT_EQ(rig.tap.gaps[GapCause::kOverrun], lost) << "they came";
      EXPECT_LT(rig.tap.words.size(), 64 * kWindowBits * test::kSmallWords) << "the recorder got the gap's silence";
    }
  }
}

// Bits that came long ago are late, whatever this machine's speed: the engine sheds, counts and flags, then recovers.
TEST(LiveEngine, OverloadShedsWholeHopsAndAccountsForThem) {
  for (const char* const kind : {"popcount", "dot_product", "decimated_fft"}) {
    Settings settings = test::small_settings();
    settings.front_end.kind = kind;
    settings.device.batch = 1;
    SCOPED_TRACE(kind);
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

// The bits of hops that are shed are recorded: only a pause leaves bits out, and says that it was the daemon's.
TEST(LiveEngine, BitsOfShedHopsAreRecordedUntilRecordingsArePaused) {
  constexpr std::int64_t kLongAgoNs = 300'000'000;  // hops are shed from 50 ms on
  constexpr std::uint64_t kBits = 40 * kWindowBits;
  for (const double pause_recordings_ms : {600'000.0, 100.0}) {
    SCOPED_TRACE(pause_recordings_ms);
    Settings settings = test::small_settings();
    settings.daemon->overload.pause_recordings_ms = pause_recordings_ms;
    Rig rig(settings);
    rig.ring.begin_stream(3, 0);
    rig.feed(0, kBits, monotonic_ns() - kLongAgoNs);
    rig.run();
    std::uint64_t shed = 0;
    for (const test::KeptFrame& kept : rig.sink.frames) {
      shed += kept.frame.shed_hops;
    }
    ASSERT_GT(shed, 0U);
    EXPECT_EQ(rig.tap.next_bit_time, rig.sink.frames.back().frame.first_bit_time + kWindowBits);
    const std::uint64_t stored = rig.tap.words.size() / test::kSmallWords;
    const std::uint64_t paused = rig.tap.gaps[GapCause::kPaused];
    EXPECT_EQ(stored + paused, rig.tap.next_bit_time) << "every bit-time is in one term of the account";
    EXPECT_EQ(paused > 0, pause_recordings_ms < 600'000.0);
  }
}

// What the ring overwrote before the engine took it was not lost by the source.
TEST(LiveEngine, BitsThatTheRingOverwroteAreRecordedAsOverrun) {
  constexpr std::uint64_t kRing = 4 * kWindowBits;
  Rig rig(test::small_settings(), kRing, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed(0, kWindowBits);
  rig.run();
  rig.feed(kWindowBits, 2 * kRing);
  rig.run();
  const std::uint64_t overrun = rig.ring.counters().overrun;
  ASSERT_GT(overrun, 0U);
  EXPECT_EQ(rig.tap.gaps[GapCause::kOverrun], overrun);
  EXPECT_TRUE(rig.tap.missing.empty()) << "nothing was lost on the way";
  EXPECT_EQ(rig.tap.words.size() / test::kSmallWords + overrun, rig.tap.next_bit_time);
}

constexpr std::uint64_t kSwapBits = 5 * kWindowBits + 700;  // between two hops, and between two words
constexpr std::uint64_t kSwapEnd = 10 * kWindowBits;

/// A stream of noise with a gap before and one after the swap from `settings` to `next`, or none.
std::vector<test::KeptFrame> swapped(Settings settings, std::optional<Settings> next) {
  settings.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;  // a new epoch has no state of frames before it
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, kSwapBits - 3000);
  rig.feed_noise(kSwapBits - 2900, 2900);
  rig.run();
  if (next) {
    next->holography.filter.cutoff_rule = CutoffRule::kDynamicRange;
    EXPECT_EQ(rig.swap(make_epoch(*next, patient_input(), 2))->number, 1U);
  }
  rig.feed_noise(kSwapBits + 50, kSwapEnd - kSwapBits - 50);
  rig.run();
  return std::move(rig.sink.frames);
}

// Frames of the new epoch follow a hop after the old one's and are those of a stream in which nothing was swapped.
TEST(LiveEngine, ASwapLosesNoHop) {
  struct Case {
    std::string_view kind;
    int hop;
  };
  for (const Case& c : {Case{"popcount", 16}, Case{"dot_product", 16},
                        Case{"decimated_fft", 200}}) {  // windows that overlap, and windows apart
    SCOPED_TRACE(testing::Message() << c.kind << ", hop " << c.hop);
    Settings settings = test::small_settings();
    settings.front_end.kind = c.kind;
    settings.front_end.hop_samples = c.hop;
    const std::vector<test::KeptFrame> expected = swapped(settings, std::nullopt);
    const std::vector<test::KeptFrame> frames = swapped(settings, settings);
    ASSERT_EQ(frames.size(), expected.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      const Frame& frame = frames[i].frame;
      const std::uint64_t end = i * static_cast<std::uint64_t>(c.hop) * kSampleBits + kWindowBits;
      EXPECT_EQ(frame.epoch, end <= kSwapBits ? 1U : 2U);
      EXPECT_EQ(frame.sequence, i);
      EXPECT_EQ(frame.first_bit_time, end - kWindowBits);
      EXPECT_EQ(frame.missing_bit_times, expected[i].frame.missing_bit_times);
      EXPECT_EQ(frame.shed_hops, 0U);
      expect_same_image(frames[i], expected[i]);
    }
    EXPECT_EQ(frames.back().frame.epoch, 2U);
  }
}

// A longer window comes when it is whole; a shorter one, and another hop, follow on the last window's end.
TEST(LiveEngine, ASwapToOtherWindowsGoesOnWhereItCan) {
  struct Case {
    int window, hop;
    std::uint64_t first_after, end_after;  ///< of the new epoch's first window, samples after the last one
  };
  for (const Case& c : {Case{256, 16, 16, 144}, Case{64, 8, 72, 8}, Case{128, 48, 48, 48}}) {
    SCOPED_TRACE(testing::Message() << c.window << " by " << c.hop);
    Settings next = test::small_settings();
    next.front_end.window_samples = c.window;
    next.front_end.hop_samples = c.hop;
    const std::vector<test::KeptFrame> frames = swapped(test::small_settings(), next);
    const auto is_new = [](const test::KeptFrame& kept) { return kept.frame.epoch == 2; };
    const auto first_new = std::find_if(frames.begin(), frames.end(), is_new);
    ASSERT_NE(first_new, frames.end());
    const Frame& last = std::prev(first_new)->frame;
    EXPECT_EQ(first_new->frame.first_bit_time, last.first_bit_time + c.first_after * kSampleBits);
    EXPECT_EQ(first_new->frame.first_bit_time + first_new->frame.window_bit_times,
              last.first_bit_time + last.window_bit_times + c.end_after * kSampleBits);
    EXPECT_EQ(first_new->frame.shed_hops, 0U);
    const std::vector<test::KeptFrame> alone = swapped(next, std::nullopt);
    const auto same_window = [&](const test::KeptFrame& kept) {
      return kept.frame.first_bit_time == first_new->frame.first_bit_time;
    };
    const auto expected = std::find_if(alone.begin(), alone.end(), same_window);
    ASSERT_NE(expected, alone.end());
    EXPECT_EQ(first_new->frame.missing_bit_times, expected->frame.missing_bit_times);
    expect_same_image(*first_new, *expected);
  }
}

// The source has gone round the ring: hops whose bits are gone are shed, flagged and counted.
TEST(LiveEngine, ASwapCountsWhatTheRingNoLongerHolds) {
  constexpr std::uint64_t kRing = 4 * kWindowBits;
  Rig rig(test::small_settings(), kRing, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, 2 * kWindowBits);
  rig.run();
  const std::size_t before = rig.sink.frames.size();
  rig.feed_noise(2 * kWindowBits, kRing);
  ASSERT_EQ(rig.ring.counters().overrun, 0U);
  rig.swap(make_epoch(test::small_settings(), patient_input(), 2));
  rig.run();
  ASSERT_GT(rig.sink.frames.size(), before);
  const Frame& first_new = rig.sink.frames[before].frame;
  EXPECT_EQ(first_new.first_bit_time, 2 * kWindowBits);
  EXPECT_EQ(first_new.shed_hops, kWindowBits / kHopBits - 1);
  EXPECT_EQ(first_new.sequence, before + first_new.shed_hops);
  EXPECT_EQ(first_new.flags & kFlagOverload, kFlagOverload);
  EXPECT_EQ(first_new.missing_bit_times, 0U);
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
  const std::unique_ptr<Epoch> old = rig.swap(std::move(next));
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
