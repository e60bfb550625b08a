#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <thread>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/sending/packet_sender.hpp"
#include "stream/source.hpp"
#include "stream/sources/playback.hpp"
#include "stream/stream_support.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

namespace nearfield {
namespace {

using test::expect_conserved;
using test::kNeverNs;
using test::source_words;
using test::TemporaryFolder;

constexpr std::size_t kWords = 2;  // 8 x 8 microphones, row-major

std::vector<std::uint32_t> words_of(const Playback& playback, std::uint64_t first, std::size_t count) {
  std::vector<std::uint32_t> words(count * playback.words_per_element());
  playback.read(first, words);
  return words;
}

/// Takes `count` elements of the source's next stream, from its first on.
std::vector<std::uint32_t> take_stream(Source& source, std::size_t count, std::uint64_t& missing) {
  IngestRing& ring = source.ring();
  EXPECT_TRUE(ring.wait_for_stream(kNeverNs));
  const std::uint64_t first = ring.accept_stream().first_element;
  const std::size_t words = ring.settings().words_per_element;
  std::vector<std::uint32_t> all(count * words);
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min<std::size_t>(64, count - done);
    if (ring.wait_for(first + done + part, kNeverNs) != WaitResult::kReady) {
      ADD_FAILURE() << "the stream ended after " << done << " elements: " << source.error();
      break;
    }
    missing += ring.take(first + done, std::span(all).subspan(done * words, part * words)).missing;
    done += part;
  }
  return all;
}

// What comes before the daemon is ready is old when it is: nothing of it is in the stream.
TEST(Sources, UdpDropsWhatCameBeforeItsStart) {
  const TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1'000);
  const Playback playback = Playback::of(folder / "capture.h5");
  const auto source = make_source({.source = {.address = "127.0.0.1:0"}, .words_per_element = kWords});
  const auto send = [&](std::uint64_t first) {
    (void)send_packets(
        playback,
        {.to = "127.0.0.1:" + std::to_string(source->port()), .first_element = first, .elements_per_packet = 100},
        [] { return false; });
  };
  send(0);
  EXPECT_EQ(source->discard_waiting(), 10U);
  EXPECT_EQ(source->discard_waiting(), 0U);
  EXPECT_FALSE(source->ring().newest());
  source->start();
  send(50'000);
  ASSERT_TRUE(source->ring().wait_for_stream(kNeverNs));
  EXPECT_EQ(source->ring().accept_stream().first_element, 50'000U);
  ASSERT_EQ(source->ring().wait_for(51'000, kNeverNs), WaitResult::kReady);
  const std::optional<NewestElement> newest = source->ring().newest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->stream, 1U);
  EXPECT_EQ(newest->elements, 1'000U);
  EXPECT_LE(newest->arrived_ns, monotonic_ns());
  source->stop();
  EXPECT_EQ(source->counters().packets.datagrams, 10U);
}

TEST(Sources, UdpOverLoopbackDeliversTheFile) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kBitTimes = 20'000;
  test::write_random_capture(folder / "capture.h5", kBitTimes);
  const Playback playback = Playback::of(folder / "capture.h5");
  const auto source =
      make_source({.source = {.address = "127.0.0.1:0", .require_crc = true}, .words_per_element = kWords});
  ASSERT_GT(source->port(), 0);
  source->start();
  const std::uint64_t first = std::uint64_t{0} - 5000;
  const SendReport report = send_packets(playback,
                                         {.to = "127.0.0.1:" + std::to_string(source->port()),
                                          .first_element = first,
                                          .elements_per_packet = 250,
                                          .rate = 0.5},
                                         [] { return false; });
  EXPECT_EQ(report.datagrams, 80U);
  EXPECT_EQ(report.elements, kBitTimes);
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, kBitTimes, missing);
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(taken, words_of(playback, 0, kBitTimes));
  source->stop();
  EXPECT_EQ(source->state(), SourceState::kEnded);
  EXPECT_EQ(source->counters().packets.accepted, 80U);
  expect_conserved(source->counters().ring);
}

TEST(Sources, DatagramsAreNotHeldForEachOther) {
  const TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 4096);
  const Playback playback = Playback::of(folder / "capture.h5");
  std::uint64_t looks = 0;  // one before each wait
  const SendReport report = send_packets(playback, {.to = "127.0.0.1:9"}, [&] {
    ++looks;
    return false;
  });
  EXPECT_EQ(report.datagrams, 16U);
  EXPECT_GE(looks, report.datagrams);
}

TEST(Sources, SamplesTravelToo) {
  const TemporaryFolder folder;
  const std::vector<float> samples = test::monopole_samples(500, 1000.0);
  write_time_data(folder / "time.h5", kBitRateHz / kBitsPerWord, 64, samples);
  const Playback playback = Playback::of(folder / "time.h5");
  const auto source = make_source(
      {.source = {.payload = DaemonSettings::Payload::kSamples, .address = "127.0.0.1:0", .reorder_bit_times = 512},
       .words_per_element = 64,
       .bit_times_per_element = 32});
  source->start();
  send_packets(playback, {.to = "127.0.0.1:" + std::to_string(source->port()), .elements_per_packet = 7},
               [] { return false; });
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, 500, missing);
  EXPECT_EQ(missing, 0U);
  ASSERT_EQ(taken.size(), samples.size());
  EXPECT_EQ(std::memcmp(taken.data(), samples.data(), taken.size() * 4), 0);
}

TEST(Sources, ASenderFillsPacketsWithAsManySamplesAsFit) {
  const TemporaryFolder folder;
  const std::vector<float> samples = test::monopole_samples(500, 1000.0);
  write_time_data(folder / "time.h5", kBitRateHz / kBitsPerWord, 64, samples);
  const Playback playback = Playback::of(folder / "time.h5");
  const auto source = make_source(
      {.source = {.payload = DaemonSettings::Payload::kSamples, .address = "127.0.0.1:0", .reorder_bit_times = 512},
       .words_per_element = 64,
       .bit_times_per_element = 32});
  source->start();
  const SendReport report =
      send_packets(playback, {.to = "127.0.0.1:" + std::to_string(source->port())}, [] { return false; });
  EXPECT_EQ(report.datagrams, 2U);  // of 255 samples at most, 256 of which exceed a datagram's 65,507 bytes
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, 500, missing);
  EXPECT_EQ(missing, 0U);
  ASSERT_EQ(taken.size(), samples.size());
  EXPECT_EQ(std::memcmp(taken.data(), samples.data(), taken.size() * 4), 0);
}

TEST(Sources, MulticastIsJoined) {
  const TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1000);
  const Playback playback = Playback::of(folder / "capture.h5");
  const auto source =
      make_source({.source = {.address = "239.255.77.1:0", .interface = "lo"}, .words_per_element = kWords});
  EXPECT_GT(source->port(), 0);
  EXPECT_THROW(make_source({.source = {.address = "239.255.77.1:0", .interface = "none0"}}), ConfigError);
}

TEST(Sources, AFileAsFastAsItIsTaken) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kBitTimes = 100'000;
  test::write_random_capture(folder / "capture.h5", kBitTimes);
  const auto source = make_source({.source = {.kind = DaemonSettings::SourceKind::kFile,
                                              .path = folder / "capture.h5",
                                              .pace = DaemonSettings::Pace::kFast,
                                              .reorder_bit_times = 100,
                                              .ring_bit_times = 8192}});
  ASSERT_TRUE(source->capture().has_value());
  EXPECT_EQ(source->capture()->measurement.geometry, test::small_array());
  source->start();
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, kBitTimes, missing);
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(taken, words_of(Playback::of(folder / "capture.h5"), 0, kBitTimes));
  EXPECT_EQ(source->ring().wait_for(kBitTimes + 1, kNeverNs), WaitResult::kEnded);
  EXPECT_EQ(source->state(), SourceState::kEnded);
  EXPECT_EQ(source->counters().ring.overrun, 0U);
}

TEST(Sources, ALoopGoesOnOverTheSeam) {
  const TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1001);
  const auto source = make_source({.source = {.kind = DaemonSettings::SourceKind::kFile,
                                              .path = folder / "capture.h5",
                                              .pace = DaemonSettings::Pace::kFast,
                                              .loop = true}});
  source->start();
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, 5000, missing);
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(taken, words_of(Playback::of(folder / "capture.h5"), 0, 5000));
  source->stop();
}

/// No bound on how fast: only that it is not faster than real time, which no load on the machine can bring about.
TEST(Sources, RealTimeIsNotFaster) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kBitTimes = 60'000;
  test::write_random_capture(folder / "capture.h5", kBitTimes);
  const auto source =
      make_source({.source = {.kind = DaemonSettings::SourceKind::kFile, .path = folder / "capture.h5"}});
  const std::int64_t start_ns = monotonic_ns();
  source->start();
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, kBitTimes, missing);
  EXPECT_GE(monotonic_ns() - start_ns, 40'000'000);
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(taken, words_of(Playback::of(folder / "capture.h5"), 0, kBitTimes));
}

const char* const kScene =
    "version: 1\narray: {rows: 4, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, sensitivity_dbfs: -26, layout: "
    "row-major}\n"
    "standoff_m: 0.03\nduration_s: 0.01\nseed: 7\nsigma_delta: {order: 2}\nsources:\n"
    "  - {kind: monopole, frequency_hz: FREQUENCY, x_m: 0.0, y_m: 0.0, z_m: -0.03, volume_velocity_m3_s: 2.0e-4}\n";

std::string write_scene(const TemporaryFolder& folder, const std::string& frequency_hz) {
  std::string text = kScene;
  text.replace(text.find("FREQUENCY"), 9, frequency_hz);
  std::string path = folder / "scene.yaml";
  std::ofstream(path) << text;
  return path;
}

TEST(Sources, ASceneIsALiveArrayWithoutASeam) {
  const TemporaryFolder folder;
  const std::string path = write_scene(folder, "1007.080078125");
  const Playback playback = Playback::of(path);
  EXPECT_TRUE(playback.warnings().empty());
  EXPECT_LT(seam_jump_rad(load_scene(path), playback.elements()), 1e-6);
  const auto source = make_source({.source = {.kind = DaemonSettings::SourceKind::kSimulate, .scene = path}});
  ASSERT_TRUE(source->capture().has_value());
  EXPECT_EQ(source->ring().settings().words_per_element, 1U);
  source->start();
  std::uint64_t missing = 0;
  const auto taken = take_stream(*source, 5000, missing);
  EXPECT_EQ(missing, 0U);
  EXPECT_EQ(taken, words_of(playback, 0, 5000));
  source->stop();
}

// Noise repeats after what is played; a source that moves does not, which is said. No scene is held beyond 2 GiB.
TEST(Sources, AScenePlaysNoiseAndMotionForItsWholeDuration) {
  const TemporaryFolder folder;
  const std::string path = write_scene(folder, "1007.080078125");
  std::ofstream(path, std::ios::app) << "  - {kind: noise, x_m: 0, y_m: 0, z_m: -1, rms_at_1m_pa: 1}\n";
  EXPECT_EQ(Playback::of(path).elements(), 14'976U);
  const auto source = make_source({.source = {.kind = DaemonSettings::SourceKind::kSimulate, .scene = path}});
  EXPECT_TRUE(source->capture().has_value()) << "the daemon plays noise";
  std::ofstream(path, std::ios::app) << "  - {kind: noise, rms_at_1m_pa: 1, path: [{t_s: 0, x_m: 0, y_m: 0, z_m: -1}, "
                                        "{t_s: 1, x_m: 1, y_m: 0, z_m: -1}]}\n";
  EXPECT_THAT(Playback::of(path).warnings(),
              testing::Contains(testing::HasSubstr("1 source moves from the end of the path")));
  std::string text = std::string(kScene) + "  - {kind: noise, x_m: 0, y_m: 0, z_m: -1, rms_at_1m_pa: 1}\n";
  text.replace(text.find("FREQUENCY"), 9, "1000");
  text.replace(text.find("0.01"), 4, "3000");
  std::ofstream(path) << text;
  try {
    (void)Playback::of(path);
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("duration_s: expected at most 357.9 s of a scene that is played whole"));
  }
}

TEST(Sources, ASceneWithTracksNeedsAReaderOfSoundFiles) {
  const TemporaryFolder folder;
  const std::string path = write_scene(folder, "1100.0");
  std::ofstream(path, std::ios::app)
      << "  - {kind: track, file: a.wav, x_m: 0, y_m: 0, z_m: -1, pressure_at_1m_pa: 1}\n";
  try {
    (void)make_source({.source = {.kind = DaemonSettings::SourceKind::kSimulate, .scene = path}});
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("daemon.source.scene: expected a scene without recorded tracks"));
    EXPECT_THAT(error.what(), testing::HasSubstr("found 1 in " + path));
    EXPECT_THAT(error.what(), testing::HasSubstr("nearfield send " + path));
  }
  EXPECT_THROW((void)Playback::of(path), ConfigError);
  const Playback playback = Playback::of(path, [](const std::string&) { return std::vector<float>(1000, 0.1F); });
  EXPECT_EQ(playback.elements(), 14'976U) << "the whole duration_s, in steps of 64 bit-times";
}

/// The phase of the tone over the seam, from the bits alone: bits of the loop's end and its start, put together, must
/// hold the tone as any other stretch does.
TEST(Sources, TheToneGoesOnOverTheSeam) {
  const TemporaryFolder folder;
  const double frequency_hz = 1100.0;  // on no grid
  const Playback playback = Playback::of(write_scene(folder, "1100.0"));
  const auto amplitude_at = [&](std::uint64_t first) {
    constexpr std::size_t kCount = 15'000;  // 11 periods
    const auto words = words_of(playback, first, kCount);
    std::complex<double> sum;
    for (std::size_t n = 0; n < kCount; ++n) {
      const double value = (words[n] & 1U) != 0 ? 1.0 : -1.0;
      sum += value * std::polar(1.0, -2.0 * std::numbers::pi * frequency_hz * static_cast<double>(n) / kBitRateHz);
    }
    return std::abs(sum);
  };
  // A jump by a radian in the middle would cost 1 - cos(1/2) = 12 %; the search leaves less than 0.02 rad here, and the
  // modulator's own noise is below 1 % of this tone.
  EXPECT_NEAR(amplitude_at(playback.elements() - 7500) / amplitude_at(20'000), 1.0, 0.02);
}

TEST(Sources, APipeFedInPiecesAndReopened) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto source =
      make_source({.source = {.kind = DaemonSettings::SourceKind::kPipe, .path = path, .reorder_bit_times = 0},
                   .words_per_element = kWords});
  source->start();
  for (const std::size_t count : {std::size_t{1000}, std::size_t{333}}) {
    const auto words = source_words(0, count, kWords);
    const auto bytes = std::as_bytes(std::span(words));
    const int pipe = open(path.c_str(), O_WRONLY);
    ASSERT_GE(pipe, 0);
    for (std::size_t done = 0; done < bytes.size();) {
      const std::size_t part = std::min<std::size_t>(101, bytes.size() - done);  // cuts words and elements
      ASSERT_EQ(write(pipe, bytes.data() + done, part), static_cast<ssize_t>(part));
      done += part;
    }
    ASSERT_EQ(write(pipe, "abc", 3), 3);  // an element that never gets whole
    close(pipe);
    std::uint64_t missing = 0;
    EXPECT_EQ(take_stream(*source, count, missing), words);
    EXPECT_EQ(missing, 0U);
    EXPECT_EQ(source->ring().wait_for(count + 1, kNeverNs), WaitResult::kEnded);
  }
  EXPECT_EQ(source->state(), SourceState::kRunning) << "another writer may come";
  EXPECT_EQ(source->counters().cut_bytes, 6U);
  source->stop();
  expect_conserved(source->counters().ring);
}

// As between the end of one stream and the moment at which the pipe is opened again.
TEST(Sources, AWriterThatWentBeforeThePipeWasOpenedEndsItsStream) {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int keeper = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  const int pipe = open(path.c_str(), O_WRONLY);
  ASSERT_GE(std::min(keeper, pipe), 0);
  const auto words = source_words(0, 300, kWords);
  const auto bytes = std::as_bytes(std::span(words));
  ASSERT_EQ(write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(write(pipe, "abc", 3), 3);
  close(pipe);
  const auto source =
      make_source({.source = {.kind = DaemonSettings::SourceKind::kPipe, .path = path}, .words_per_element = kWords});
  source->start();
  std::uint64_t missing = 0;
  EXPECT_EQ(take_stream(*source, 300, missing), words);
  constexpr std::int64_t kMinuteNs = 60'000'000'000;
  EXPECT_EQ(source->ring().wait_for(301, monotonic_ns() + kMinuteNs), WaitResult::kEnded);
  EXPECT_EQ(source->counters().cut_bytes, 3U);
  close(keeper);
}

TEST(Sources, AnOrdinaryFileOfRawWordsEnds) {
  const TemporaryFolder folder;
  const auto words = source_words(0, 5000, kWords);
  std::ofstream(folder / "raw", std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  const auto source = make_source(
      {.source = {.kind = DaemonSettings::SourceKind::kPipe, .path = folder / "raw"}, .words_per_element = kWords});
  source->start();
  std::uint64_t missing = 0;
  EXPECT_EQ(take_stream(*source, 5000, missing), words);
  EXPECT_EQ(source->ring().wait_for(5001, kNeverNs), WaitResult::kEnded);
  EXPECT_EQ(source->state(), SourceState::kEnded);
}

TEST(Sources, AnErrorOnTheThreadEndsTheStreamWithItsReason) {
  const TemporaryFolder folder;
  const auto source = make_source(
      {.source = {.kind = DaemonSettings::SourceKind::kPipe, .path = folder.path()}, .words_per_element = kWords});
  source->start();  // a folder opens, but can't be read
  EXPECT_EQ(source->ring().wait_for(1, kNeverNs), WaitResult::kEnded);
  EXPECT_EQ(source->state(), SourceState::kFailed);
  EXPECT_NE(source->error().find(folder.path()), std::string::npos) << source->error();
}

TEST(Sources, WhatCannotBeOpenedIsSaidAtOnce) {
  EXPECT_THROW(make_source({.source = {.kind = DaemonSettings::SourceKind::kPipe, .path = "/nowhere/pipe"}}),
               NoInputError);
  EXPECT_THROW(make_source({.source = {.kind = DaemonSettings::SourceKind::kPipe}}), ConfigError);
  EXPECT_THROW(make_source({.source = {.kind = DaemonSettings::SourceKind::kFile, .path = "/nowhere/capture.h5"}}),
               NoInputError);
  EXPECT_THROW(make_source({.source = {.kind = DaemonSettings::SourceKind::kSimulate, .scene = "/nowhere/scene.yaml"}}),
               NoInputError);
  EXPECT_THROW(make_source({.source = {.address = "127.0.0.1"}}), ConfigError);
  EXPECT_THROW(make_source({.source = {.address = "192.0.2.1:0"}}), IoError);
  EXPECT_THROW(make_source({.words_per_element = 0}), ConfigError);
  EXPECT_THROW(make_source({.source = {.allowed_from = {"10.0.0.1/33"}}}), ConfigError);
}

/// Without a second set of defaults: what the configuration says is what a source does.
TEST(Sources, TheConfigurationsDefaultsHold) {
  const DaemonSettings::Source source;
  const RingSettings ring = ring_settings({.source = source});
  EXPECT_EQ(ring.elements, static_cast<std::uint64_t>(source.ring_bit_times));
  EXPECT_EQ(ring.reorder_elements, static_cast<std::uint64_t>(source.reorder_bit_times));
  const IntakeSettings intake = intake_settings(source, 32);
  EXPECT_EQ(intake.max_jump_elements, 468'750U);
  EXPECT_EQ(intake.takeover_after_ns, 100'000'000);
  EXPECT_EQ(intake.restart_hold_off_ns, 1'000'000'000);
}

/// The kernel's word on the sender reaches the counters: a sender from elsewhere is refused, one from here is named.
TEST(Sources, WhoMaySendAndWhoDoes) {
  const TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1000);
  const Playback playback = Playback::of(folder / "capture.h5");
  for (const char* allowed : {"127.0.0.0/8", "10.0.0.0/8"}) {
    const auto source =
        make_source({.source = {.address = "127.0.0.1:0", .allowed_from = {allowed}}, .words_per_element = kWords});
    source->start();
    send_packets(playback, {.to = "127.0.0.1:" + std::to_string(source->port()), .stream_id = 7}, [] { return false; });
    const std::int64_t patience_ns = monotonic_ns() + 60'000'000'000;
    const auto judged = [&] {
      const PacketCounters packets = source->counters().packets;
      return packets.accepted + packets.not_allowed;
    };
    while (judged() < 4 && monotonic_ns() < patience_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const SourceCounters counters = source->counters();
    const bool is_allowed = std::string(allowed) == "127.0.0.0/8";
    EXPECT_EQ(counters.packets.accepted, is_allowed ? 4U : 0U);
    EXPECT_EQ(counters.packets.not_allowed, is_allowed ? 0U : 4U);
    ASSERT_EQ(counters.sender.has_value(), is_allowed);
    if (is_allowed) {
      EXPECT_EQ(text_of(counters.sender->peer.address), "127.0.0.1");
      EXPECT_GT(counters.sender->peer.port, 0);
      EXPECT_EQ(counters.sender->stream_id, 7U);
    }
    EXPECT_FALSE(counters.other.has_value());
  }
}

}  // namespace
}  // namespace nearfield
