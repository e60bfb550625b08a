#include "recording/recorder.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "files/files.hpp"
#include "recording/output.hpp"
#include "recording/recording_support.hpp"
#include "support/images.hpp"

namespace nearfield::test {
namespace {

RecorderOptions options_for(const std::string& path) {
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = path;
  options.settings.bits_queue_bytes = 1 << 20;
  options.settings.images_queue_bytes = 1 << 20;
  return options;
}

void start(Recorder& recorder) {
  recorder.start();
  recorder.wait_for_requests();
}

RecorderStatus stop(Recorder& recorder) {
  recorder.stop();
  recorder.wait_for_requests();
  return recorder.status();
}

/// Waits for what the writer does by itself; a test that hangs here fails by its time limit.
RecorderStatus wait_for(Recorder& recorder, RecordingState state) {
  constexpr std::chrono::seconds kTimeout{60};
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  RecorderStatus status = recorder.status();
  while (status.state != state) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "expected state " << static_cast<int>(state) << ", found " << static_cast<int>(status.state)
                    << ", ended: " << static_cast<int>(status.end_cause) << " " << status.end_reason << ", "
                    << status.recordings << " begun, " << status.refused << " refused";
      break;
    }
    std::this_thread::yield();
    status = recorder.status();
  }
  return status;
}

TEST(Recorder, MasksAreInTheFileOfTheirStream) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.pre_trigger_s = 1.0;
  Recorder recorder(options);
  recorder.mask({.first_bit_time = 100, .channels = {}});
  push_bits(recorder, 100, 50);
  recorder.arm();
  recorder.wait_for_requests();
  push_bits(recorder, 150, 50);
  recorder.mask({.first_bit_time = 200, .channels = {5, 63}});
  push_bits(recorder, 200, 50);
  start(recorder);
  push_bits(recorder, 250, 50);
  recorder.mask({.first_bit_time = 10, .channels = {5}});  // another stream's: the next bits are
  push_bits(recorder, 10, 50, {}, 2);
  recorder.mask({.first_bit_time = 60, .channels = {5, 6}});
  push_bits(recorder, 60, 50, {}, 2);
  stop(recorder);
  const nfr::Reader first{std::filesystem::path(folder / "a.nfr")};
  EXPECT_EQ(first.masks(), std::vector<MaskChange>({{100, {}}, {200, {5, 63}}}));
  EXPECT_EQ(first.summary().damaged_places, 0U);
  const nfr::Reader second{std::filesystem::path(folder / "a-1.nfr")};
  EXPECT_EQ(second.masks(), std::vector<MaskChange>({{10, {5}}, {60, {5, 6}}}));
  EXPECT_EQ(second.summary().damaged_places, 0U);
}

// Masks are for a replay of bits: images alone carry none, and a source that begins again damages nothing.
TEST(Recorder, MasksAreNotWrittenWithoutBits) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.bits = false;
  Recorder recorder(options);
  start(recorder);
  for (const std::uint64_t first : {std::uint64_t{500}, std::uint64_t{10}}) {
    recorder.mask({.first_bit_time = first, .channels = {5}});
    push_bits(recorder, first, 50);
  }
  stop(recorder);
  const nfr::Reader reader{std::filesystem::path(folder / "a.nfr")};
  EXPECT_TRUE(reader.masks().empty());
  EXPECT_EQ(reader.summary().damaged_places, 0U);
}

TEST(Recorder, WhatWasPushedIsInTheFile) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  start(recorder);
  std::uint64_t at = 1000;
  for (std::uint64_t piece = 1; piece < 100; ++piece) {
    push_bits(recorder, at, piece);
    at += piece;
  }
  push_bits(recorder, at, 100, {{at + 5, 10}, {at + 50, 50}});
  push_bits(recorder, at + 150, 20);  // 50 bit-times are skipped
  at += 170;
  recorder.push({.first_bit_time = at, .bit_times = 7, .words = {}, .missing = {}, .stream_id = 1});
  at += 7;
  const RecorderStatus status = stop(recorder);
  EXPECT_EQ(status.state, RecordingState::kEnded);
  EXPECT_EQ(status.end_cause, EndCause::kStopped);
  EXPECT_EQ(status.dropped_pieces, 0U);
  EXPECT_EQ(status.end_bit_time, at);
  EXPECT_EQ(status.records, 103U);
  EXPECT_EQ(status.bytes, std::filesystem::file_size(status.path));
  nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_EQ(reader.summary().bits.first_bit_time, 1000U);
  EXPECT_EQ(reader.summary().bits.end_bit_time, at);
  EXPECT_EQ(reader.summary().bits.not_sent, 117U);
  EXPECT_EQ(reader.summary().end->reason, "stopped");
  EXPECT_DOUBLE_EQ(reader.summary().end->seconds.value(), static_cast<double>(at - 1000) / kBitRateHz);
  const BitsCheck check = check_bits(reader);
  EXPECT_EQ(check.wrong_words, 0U);
  EXPECT_EQ(check.missing, 117U);
  EXPECT_EQ(check.received + 117U, at - 1000);
}

TEST(Recorder, ImagesComeBackWithTheirEpochs) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  recorder.begin(result_header(small_header()), {.epoch = 1});
  start(recorder);
  for (std::uint64_t hop = 0; hop < 10; ++hop) {
    if (hop == 6) {
      recorder.begin(result_header(small_header()), {.epoch = 2});
    }
    recorder.write(TestFrame(hop, 2.0F, hop < 6 ? 1 : 2).frame);
  }
  const RecorderStatus status = stop(recorder);
  const nfr::Reader reader{std::filesystem::path(status.path)};
  ASSERT_EQ(reader.epochs().size(), 2U);
  EXPECT_EQ(images_header_of(reader.epochs()[1].header).value().points, small_header().points);
  EXPECT_EQ(reader.epochs()[0].frames, 6U);
  EXPECT_EQ(reader.epochs()[1].frames, 4U);
  std::uint64_t hop = 6;
  for_each_image(reader, reader.epochs()[1], 0, 4, [&](const ImageFrame& frame) {
    const TestFrame expected(hop, 2.0F);
    EXPECT_EQ(frame.first_sample, hop * 1024);
    EXPECT_EQ(frame.flags, expected.frame.flags);
    EXPECT_EQ(frame.missing_bits, hop % 2);
    EXPECT_TRUE(std::equal(frame.images.begin(), frame.images.end(), expected.images.images.begin()));
    EXPECT_EQ(frame.noise_pa[1], 2e-3F);
    EXPECT_EQ(frame.error_estimate[0], 0.05F);
    EXPECT_TRUE(std::equal(frame.points.begin(), frame.points.end(), expected.images.points.begin(),
                           expected.images.points.end()));
    // 32768 bit-times before the window's last bit
    EXPECT_EQ(frame.timestamp_ns, expected.frame.capture_tai_ns - 21'845'333);
    ++hop;
  });
  EXPECT_EQ(hop, 10U);
}

TEST(Recorder, AFrameOfAnEpochThatNobodyTold) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  start(recorder);
  recorder.write(TestFrame(1).frame);
  const RecorderStatus status = stop(recorder);
  EXPECT_EQ(status.dropped_images, 1U);
  EXPECT_EQ(status.records, 0U);
}

TEST(Recorder, HistoryReachesBackAsFarAsAsked) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.pre_trigger_s = 0.01;  // 15000 bit-times
  Recorder recorder(options);
  recorder.arm();
  recorder.wait_for_requests();
  recorder.begin(result_header(small_header()), {.epoch = 1});
  for (std::uint64_t piece = 0; piece < 1000; ++piece) {
    push_bits(recorder, piece * 256, 256);
  }
  for (std::uint64_t hop = 0; hop < 250; ++hop) {
    recorder.write(TestFrame(hop).frame);
  }
  recorder.trigger();
  recorder.wait_for_requests();
  EXPECT_EQ(recorder.status().state, RecordingState::kRecording);
  push_bits(recorder, 256000, 256);
  const RecorderStatus status = stop(recorder);
  nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_EQ(status.dropped_pieces, 0U);
  // Bit-time 256000 - 15000 = 241000 lies in the piece from 240896 on.
  EXPECT_EQ(reader.summary().bits.first_bit_time, 240896U);
  EXPECT_EQ(reader.summary().bits.end_bit_time, 256256U);
  EXPECT_EQ(check_bits(reader).wrong_words, 0U);
  // Windows of 32768 bit-times: 15000 before the end of hop 249's are the ends of hops 235 to 249.
  EXPECT_EQ(reader.summary().frames, 15U);
}

TEST(Recorder, IdleKeepsNothing) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.pre_trigger_s = 1.0;
  Recorder recorder(options);
  push_bits(recorder, 0, 256);
  recorder.trigger();  // not armed
  start(recorder);
  push_bits(recorder, 256, 256);
  const RecorderStatus status = stop(recorder);
  EXPECT_EQ(status.recordings, 1U);
  const nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_EQ(reader.summary().bits.first_bit_time, 256U);
}

TEST(Recorder, ALevelStartsAndItsEndStops) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.pre_trigger_s = 0.002;
  set_level(options, {.level = 3.0, .quiet_s = 0.020, .pause_s = 0.0});
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.epoch = 1});
  recorder.arm();
  recorder.wait_for_requests();
  for (std::uint64_t hop = 0; hop < 50; ++hop) {
    recorder.write(TestFrame(hop, hop == 40 ? 4.0F : 1.0F).frame);
  }
  while (recorder.status().recordings == 0) {
    std::this_thread::yield();
  }
  for (std::uint64_t hop = 50; hop < 100; ++hop) {  // a millisecond each: quiet since hop 40
    recorder.write(TestFrame(hop).frame);
  }
  const RecorderStatus status = wait_for(recorder, RecordingState::kArmed);
  EXPECT_EQ(status.end_cause, EndCause::kBelowLevel);
  EXPECT_EQ(status.recordings, 1U);
  EXPECT_GT(nfr::Reader(std::filesystem::path(status.path)).summary().frames, 0U);
  recorder.disarm();
  recorder.wait_for_requests();
  EXPECT_EQ(recorder.status().state, RecordingState::kIdle);
}

/// A recorder with a level, fed with frames a millisecond apart.
class LevelRig {
 public:
  explicit LevelRig(const RecorderOptions& options) : recorder(options) {
    recorder.begin(result_header(small_header()), {.epoch = 1});
    recorder.arm();
    recorder.wait_for_requests();
  }
  void write(std::uint64_t frames, float magnitude) {
    for (const std::uint64_t end = hop_ + frames; hop_ < end; ++hop_) {
      recorder.write(TestFrame(hop_, magnitude).frame);
    }
  }
  /// After the writer has looked at what was written. It looks after each request.
  RecorderStatus settled() {
    for (int i = 0; i < 3; ++i) {
      recorder.arm();
      recorder.wait_for_requests();
    }
    return recorder.status();
  }
  Recorder recorder;

 private:
  std::uint64_t hop_ = 0;
};

RecorderOptions level_options(const std::string& path) {
  RecorderOptions options = options_for(path);
  set_level(options, {.level = 3.0, .quiet_s = 0.010, .pause_s = 0.030});
  return options;
}

// A noise that is there already when the recorder is armed must not start a file at once, and one after the other.
TEST(Recorder, OnlyARiseAfterQuietBeginsARecording) {
  const TemporaryFolder folder;
  LevelRig rig(level_options(folder / "a.nfr"));
  rig.write(50, 4.0F);
  EXPECT_EQ(rig.settled().recordings, 0U) << "it was loud before it was armed";
  rig.write(5, 1.0F);
  rig.write(5, 4.0F);
  EXPECT_EQ(rig.settled().recordings, 0U) << "below the level for less than quiet_s";
  rig.write(12, 1.0F);
  rig.write(1, 4.0F);
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kRecording).recordings, 1U);
}

// As the level does, with its history: a limit that is exceeded when the recorder is armed begins nothing.
TEST(Recorder, ALimitThatIsExceededBeginsARecordingAndItsEndStopsIt) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.images = false;  // frames say it all the same
  set_level(options, {.level = 3.0, .quiet_s = 0.010, .pause_s = 0.0});
  options.settings.trigger = DaemonSettings::Trigger::kLimit;
  LevelRig rig(options);
  const auto write = [&rig](std::uint64_t first, std::uint64_t frames, bool exceeds) {
    for (std::uint64_t hop = first; hop < first + frames; ++hop) {
      TestFrame one(hop, 9.0F);  // above the level, which does not count
      one.frame.exceeds_recorded_limit = exceeds;
      rig.recorder.write(one.frame);
    }
  };
  write(0, 50, true);
  EXPECT_EQ(rig.settled().recordings, 0U);
  write(50, 15, false);
  write(65, 1, true);
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kRecording).recordings, 1U);
  write(66, 20, false);
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kArmed).end_cause, EndCause::kBelowLevel);
}

TEST(Recorder, ALevelThatGoesOnBeyondTheLongestRecordingBeginsNoOther) {
  const TemporaryFolder folder;
  RecorderOptions options = level_options(folder / "a.nfr");
  options.settings.max_s = 0.03;  // a window has 0.022 s, frames are 0.0007 s of bits apart
  LevelRig rig(options);
  rig.write(15, 1.0F);
  rig.write(1, 4.0F);
  (void)wait_for(rig.recorder, RecordingState::kRecording);
  // The writer's state is seen before its queue keeps frames, so that the first of these may not count.
  for (int i = 0; i < 2000 && rig.recorder.status().state == RecordingState::kRecording; ++i) {
    rig.write(1, 4.0F);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kArmed).end_cause, EndCause::kLongEnough);
  rig.write(200, 4.0F);
  EXPECT_EQ(rig.settled().recordings, 1U);
}

TEST(Recorder, ThereIsAPauseBetweenRecordingsByLevel) {
  const TemporaryFolder folder;
  LevelRig rig(level_options(folder / "a.nfr"));
  rig.write(15, 1.0F);
  rig.write(1, 4.0F);
  (void)wait_for(rig.recorder, RecordingState::kRecording);
  rig.write(12, 1.0F);
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kArmed).end_cause, EndCause::kBelowLevel);
  rig.write(1, 4.0F);  // 12 ms of quiet are behind it: a rise, but within the 30 ms
  EXPECT_EQ(rig.settled().recordings, 1U);
  rig.write(30, 1.0F);
  rig.write(1, 4.0F);
  EXPECT_EQ(wait_for(rig.recorder, RecordingState::kRecording).recordings, 2U);
}

// The quota holds for the folder: the recording that reaches it ends, no other begins, and an armed recorder stays so.
TEST(Recorder, TheQuotaOfTheFolderIsKept) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.quota_bytes = 3 << 20;
  std::atomic<int> refused{0};
  options.changed = [&](const RecorderStatus& status) {
    refused += status.end_cause == EndCause::kDirectoryFull && status.path.empty() ? 1 : 0;
  };
  Recorder recorder(options);
  recorder.arm();
  start(recorder);
  for (std::uint64_t at = 0; recorder.status().state == RecordingState::kRecording; at += 256) {
    push_bits(recorder, at, 256);
  }
  EXPECT_EQ(recorder.status().end_cause, EndCause::kDirectoryFull);
  EXPECT_EQ(recorder.status().state, RecordingState::kArmed);
  EXPECT_LE(std::filesystem::file_size(folder / "a.nfr"), 3U << 20U);
  EXPECT_GT(std::filesystem::file_size(folder / "a.nfr"), 2U << 20U);
  EXPECT_EQ(nfr::Reader(std::filesystem::path(folder / "a.nfr")).summary().tail_bytes, 0U);
  recorder.trigger();
  recorder.wait_for_requests();
  const RecorderStatus status = recorder.status();
  EXPECT_EQ(status.state, RecordingState::kArmed);
  EXPECT_EQ(status.recordings, 1U);
  EXPECT_EQ(status.refused, 1U);
  EXPECT_EQ(refused, 1);
  EXPECT_NE(status.end_reason.find("quota_bytes"), std::string::npos) << status.end_reason;
  std::filesystem::remove(folder / "a.nfr");
  recorder.trigger();
  recorder.wait_for_requests();
  EXPECT_EQ(recorder.status().state, RecordingState::kRecording);
}

// With remove_oldest the recording that comes to the quota goes on at the expense of older ones, and never its own.
TEST(Recorder, OlderRecordingsMakeRoomForTheOneThatIsWritten) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "%H%M%S.nfr");
  options.settings.quota_bytes = 3 << 20;
  options.settings.max_bytes = 3 << 19;
  options.settings.remove_oldest = true;
  std::atomic<std::uint64_t> removed{0};
  options.made_room = [&](const FolderUsage& room) { removed += room.removed.size(); };
  Recorder recorder(options);
  std::uint64_t at = 0;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    start(recorder);
    const std::string path = recorder.status().path;
    for (; recorder.status().state == RecordingState::kRecording; at += 256) {
      push_bits(recorder, at, 256);
    }
    const RecorderStatus status = recorder.status();
    EXPECT_EQ(status.end_cause, EndCause::kLargeEnough) << status.end_reason;
    EXPECT_EQ(status.recordings, i);
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  EXPECT_GE(removed, 4U);
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
    bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 3U << 20U);
}

/// Records from `at` on until the recording has `bytes`, or has ended, no faster than the writer writes.
std::uint64_t push_until(Recorder& recorder, std::uint64_t at, std::uint64_t bytes, std::uint32_t stream_id) {
  constexpr std::uint64_t kMostQueued = 1U << 16U;
  RecorderStatus status = recorder.status();
  for (; status.state == RecordingState::kRecording && status.bytes < bytes; status = recorder.status()) {
    if (status.queued_bytes < kMostQueued) {
      push_bits(recorder, at, 256, {}, stream_id);
      at += 256;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  return at;
}

// A file that others add while a recording is written, as a frozen ring is, takes its share of the quota.
TEST(Recorder, WhatOthersAddMeanwhileTakesOfTheQuota) {
  constexpr std::uint64_t kMebibyte = 1U << 20U;
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.quota_bytes = 3 * kMebibyte;
  std::atomic<int> looks{0};
  options.made_room = [&](const FolderUsage&) { ++looks; };
  Recorder recorder(options);
  start(recorder);
  std::uint64_t at = push_until(recorder, 0, kMebibyte / 2, 1);
  std::ofstream(folder / "frozen.nfr") << std::string(kMebibyte + kMebibyte / 2, 'x');
  for (const int before = looks; looks == before && recorder.status().state == RecordingState::kRecording;) {
    at = push_until(recorder, at, recorder.status().bytes + 1, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // a look is due once a second
  }
  (void)push_until(recorder, at, 100 * kMebibyte, 1);
  EXPECT_EQ(recorder.status().end_cause, EndCause::kDirectoryFull) << recorder.status().end_reason;
  EXPECT_LE(std::filesystem::file_size(folder / "a.nfr"), kMebibyte + kMebibyte / 2);
}

/// Counts voluntary context switches of threads that were not there before.
class ThreadWatch {
 public:
  ThreadWatch() : before_(threads()) {}
  [[nodiscard]] std::int64_t switches() const {
    std::int64_t sum = 0;
    for (const std::string& thread : threads()) {
      std::ifstream status(thread + "/status");
      for (std::string word; !before_.contains(thread) && status >> word;) {
        if (std::int64_t count = 0; word == "voluntary_ctxt_switches:" && status >> count) {
          sum += count;
        }
      }
    }
    return sum;
  }

 private:
  static std::set<std::string> threads() {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      found.insert(entry.path().string());
    }
    return found;
  }
  std::set<std::string> before_;
};

// An armed recorder's writer wakes for requests and rises alone, one that records and gets nothing for its looks at the
// disk. A poll every 2 ms would be 100 times in 200 ms.
TEST(Recorder, TheWriterSleepsWhileThereIsNothingToDo) {
  constexpr std::int64_t kMostSwitches = 20;
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.pre_trigger_s = 0.01;
  const ThreadWatch watch;
  Recorder recorder(options);
  recorder.arm();
  recorder.wait_for_requests();
  const std::int64_t armed = watch.switches();
  for (std::uint64_t i = 0; i < 200; ++i) {
    push_bits(recorder, i * 256, 256);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(watch.switches() - armed, kMostSwitches);
  recorder.trigger();
  recorder.wait_for_requests();
  while (recorder.status().queued_bytes > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::int64_t recording = watch.switches();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(watch.switches() - recording, kMostSwitches);
  const std::uint64_t records = recorder.status().records;
  push_bits(recorder, 200 * 256, 256);
  while (recorder.status().records == records) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Two daemons that record into one folder: neither removes what the other one writes. Between two looks each may exceed
// the quota by what the other one records; the next look, which the keeper has every two seconds, brings it back.
TEST(Recorder, TwoMakeRoomInOneFolder) {
  constexpr std::uint64_t kMebibyte = 1U << 20U;
  const TemporaryFolder folder;
  const auto options_of = [&](const std::string& name) {
    RecorderOptions options = options_for(folder / (name + ".nfr"));
    options.settings.quota_bytes = 4 * kMebibyte;
    options.settings.max_bytes = kMebibyte;
    options.settings.remove_oldest = true;
    return options;
  };
  const auto record = [&](const std::string& name) {
    Recorder recorder(options_of(name));
    for (std::uint64_t i = 0; i < 5; ++i) {
      start(recorder);
      (void)push_until(recorder, i << 24U, 2 * kMebibyte, 1);
      EXPECT_EQ(recorder.status().end_cause, EndCause::kLargeEnough) << recorder.status().end_reason;
    }
  };
  std::thread other([&] { record("b"); });
  record("a");
  other.join();
  EXPECT_LE(make_room(folder / "", options_of("a").settings, 0, std::nullopt).used_bytes, 4 * kMebibyte);
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "")) {
    bytes += entry.file_size();
  }
  EXPECT_LE(bytes, 4 * kMebibyte);
}

// The files before a restart of the source belong to the recording under way, at whose expense nothing is kept.
TEST(Recorder, EarlierFilesOfTheRecordingStay) {
  constexpr std::uint64_t kPart = 5U << 18U;
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.quota_bytes = 3 << 20;
  options.settings.remove_oldest = true;
  std::vector<std::string> finished;
  options.finished = [&](const std::filesystem::path& path) { finished.push_back(path.filename()); };
  {
    Recorder recorder(options);
    start(recorder);
    const std::uint64_t at = push_until(recorder, 0, kPart, 1);
    (void)push_until(recorder, push_until(recorder, at, 2 * kPart, 2), 100 * kPart, 3);
    EXPECT_EQ(recorder.status().end_cause, EndCause::kDirectoryFull) << recorder.status().end_reason;
    EXPECT_EQ(recorder.status().files, 3U);
  }
  const std::vector<std::string> names{"a.nfr", "a-1.nfr", "a-2.nfr"};
  EXPECT_EQ(finished, names);
  std::uint64_t bytes = 0;
  for (const std::string& name : names) {
    ASSERT_TRUE(std::filesystem::exists(folder / name)) << name;
    bytes += std::filesystem::file_size(folder / name);
  }
  EXPECT_LE(bytes, 3U << 20U);
  EXPECT_GT(bytes, 11U << 18U);
}

// A user may remove an earlier file: the quota counts what is there.
TEST(Recorder, WhatIsNotThereAnyMoreTakesNoneOfTheQuota) {
  constexpr std::uint64_t kPart = 5U << 18U;
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.quota_bytes = 3 << 20;
  options.settings.remove_oldest = true;
  Recorder recorder(options);
  start(recorder);
  const std::uint64_t at = push_until(recorder, push_until(recorder, 0, kPart, 1), kPart + (1U << 18U), 2);
  ASSERT_TRUE(std::filesystem::remove(folder / "a.nfr"));
  (void)push_until(recorder, at, 100 * kPart, 2);
  EXPECT_EQ(recorder.status().end_cause, EndCause::kDirectoryFull) << recorder.status().end_reason;
  EXPECT_GT(std::filesystem::file_size(folder / "a-1.nfr"), 11U << 18U);
}

TEST(Recorder, TheDiskKeepsItsFreeSpace) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.keep_free_bytes = std::int64_t{1} << 60;  // more than any disk has
  Recorder recorder(options);
  recorder.start();
  recorder.wait_for_requests();
  const RecorderStatus status = recorder.status();
  EXPECT_EQ(status.end_cause, EndCause::kFreeKept);
  EXPECT_NE(status.end_reason.find("keep_free_bytes of the disk reached"), std::string::npos) << status.end_reason;
  EXPECT_FALSE(std::filesystem::exists(folder / "a.nfr"));
}

// Who lost what: the status and the file give the same account, in the same terms, and it adds up to the span.
TEST(Recorder, TheAccountOfEveryBitTimeIsTheSameInStatusAndFile) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  start(recorder);
  const auto gap = [&recorder](std::uint64_t first, std::uint64_t bit_times, GapCause cause) {
    recorder.push(
        {.first_bit_time = first, .bit_times = bit_times, .words = {}, .missing = {}, .stream_id = 1, .cause = cause});
  };
  push_bits(recorder, 1000, 100, {{1010, 7}});
  gap(1100, 300, GapCause::kPaused);
  gap(1400, 40, GapCause::kOverrun);
  push_bits(recorder, 1440, 60);
  gap(1500, 5, GapCause::kNotSent);
  push_bits(recorder, 1600, 50);  // 95 bit-times before it never came
  const RecorderStatus status = stop(recorder);
  const nfr::BitCounts expected{.received = 203, .not_sent = 107, .paused = 300, .overrun = 40, .dropped = 0};
  EXPECT_TRUE(status.bits == expected);
  EXPECT_EQ(status.bits.sum(), 650U);
  EXPECT_EQ(status.all_paused_bit_times, 300U);
  const nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_TRUE(reader.summary().bits == expected);
  EXPECT_EQ(reader.summary().bits.expected(), 650U);
  const std::string text = text_of(facts_of_file(status.path));
  for (const char* fact :
       {"650 bit-times = 203 received + 447 missing",
        "bit-times 107 never sent by the source, 300 paused by the daemon, 40 overrun in its ring, 0 "
        "dropped by the recorder, 0 in lost records"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact << "\n" << text;
  }
}

// A recording of bits alone says with which settings it was imaged, also when they change.
TEST(Recorder, BitsCarryTheSettingsInEffect) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.images = false;
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.epoch = 3});
  start(recorder);
  push_bits(recorder, 0, 100);
  recorder.begin(result_header(small_header()), {.epoch = 4});
  const auto has_both = [&] { return nfr::Reader(std::filesystem::path(folder / "a.nfr")).epochs().size() == 2; };
  while (!has_both()) {
    std::this_thread::yield();
  }
  const RecorderStatus status = stop(recorder);
  const nfr::Reader reader{std::filesystem::path(status.path)};
  ASSERT_EQ(reader.epochs().size(), 2U);
  EXPECT_EQ(reader.epochs()[0].epoch, 3U);
  EXPECT_EQ(reader.epochs()[0].header.config, small_header().config);
  EXPECT_EQ(reader.epochs()[0].frames, 0U);
}

// strftime's fields are of the file's name: a folder is taken as it is given.
TEST(Recorder, AFolderWithPercentIsTakenAsItIs) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "100%data");
  Recorder recorder(options_for(folder / "100%data/%Y.nfr"));
  start(recorder);
  const std::filesystem::path path = stop(recorder).path;
  EXPECT_EQ(path.parent_path(), folder / "100%data");
  EXPECT_EQ(path.filename().string().find('%'), std::string::npos) << path;
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_THROW(RecordingOutput(folder / "%D.nfr", 0), IoError) << "a date with slashes is no file's name";
}

// What is written to a file without a name is lost when it is closed.
TEST(Recorder, ARemovedFileEndsTheRecording) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  start(recorder);
  push_bits(recorder, 0, 100);
  std::filesystem::remove(folder / "a.nfr");
  EXPECT_EQ(wait_for(recorder, RecordingState::kEnded).end_cause, EndCause::kRemoved);
}

TEST(Recorder, LimitsEndIt) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.max_bytes = 100'000;
  {
    Recorder recorder(options);
    start(recorder);
    for (std::uint64_t piece = 0; piece < 100; ++piece) {
      push_bits(recorder, piece * 256, 256);  // 2136 bytes each
    }
    const RecorderStatus status = wait_for(recorder, RecordingState::kEnded);
    EXPECT_EQ(status.end_cause, EndCause::kLargeEnough);
    EXPECT_LE(std::filesystem::file_size(status.path), 100'000U);
    EXPECT_GT(std::filesystem::file_size(status.path), 97'000U);
    EXPECT_EQ(nfr::Reader(std::filesystem::path(status.path)).summary().end->reason, "max_bytes reached");
  }
  options.settings.max_bytes = 0;
  options.settings.max_s = 0.01;  // 15000 bit-times: 58 pieces
  Recorder recorder(options);
  start(recorder);
  for (std::uint64_t piece = 0; piece < 100; ++piece) {
    push_bits(recorder, piece * 256, 256);
  }
  const RecorderStatus status = wait_for(recorder, RecordingState::kEnded);
  EXPECT_EQ(status.end_cause, EndCause::kLongEnough);
  EXPECT_EQ(status.end_bit_time, 58U * 256U);
  EXPECT_EQ(std::filesystem::path(status.path).filename(), "a-1.nfr");  // the first one stays
}

TEST(Recorder, ARestartOfTheSourceBeginsAFile) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "a.nfr"));
  start(recorder);
  push_bits(recorder, 5000, 100, {}, 1);
  push_bits(recorder, 0, 100, {}, 2);
  const RecorderStatus status = stop(recorder);
  EXPECT_EQ(status.files, 2U);
  nfr::Reader first{std::filesystem::path(folder / "a.nfr")};
  EXPECT_EQ(first.summary().bits.first_bit_time, 5000U);
  EXPECT_EQ(first.summary().end->reason, "the source restarted");
  nfr::Reader second{std::filesystem::path(folder / "a-1.nfr")};
  EXPECT_EQ(second.summary().bits.end_bit_time, 100U);
  EXPECT_EQ(check_bits(first).wrong_words + check_bits(second).wrong_words, 0U);
}

/// Records until the disk is full, then checks that what was written can be read and that pushing goes on.
void expect_to_end(const std::string& path, EndCause cause, const std::string& words) {
  Recorder recorder(options_for(path));
  start(recorder);
  std::uint64_t at = 0;
  while (recorder.status().state == RecordingState::kRecording) {
    push_bits(recorder, at, 256);
    at += 256;
  }
  push_bits(recorder, at, 256);
  const RecorderStatus status = recorder.status();
  EXPECT_EQ(status.end_cause, cause) << status.end_reason;
  EXPECT_NE(status.end_reason.find(words), std::string::npos) << status.end_reason;
  nfr::Reader reader{std::filesystem::path(path)};
  EXPECT_EQ(reader.summary().tail_bytes, 0U);
  EXPECT_EQ(reader.summary().lost_records, 0U);
  EXPECT_EQ(reader.summary().bits.end_bit_time, status.end_bit_time);
  EXPECT_GT(reader.summary().bits.received, 100'000U);
  EXPECT_EQ(check_bits(reader).wrong_words, 0U);
}

void expect_to_end_at_the_file_size_limit(const std::string& path, rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  expect_to_end(path, EndCause::kFileSizeLimit, "File too large");
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(Recorder, EndsAtTheFileSizeLimit) {
  const TemporaryFolder folder;
  expect_to_end_at_the_file_size_limit(folder / "a.nfr", 1'500'000);
}

/// Only root may mount; for others the limit stands in for the disk, which ends a write in the middle just so.
TEST(Recorder, EndsOnAFullDisk) {
  const TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1500k") != 0) {
    expect_to_end_at_the_file_size_limit(folder / "a.nfr", 1'000'001);
    return;
  }
  expect_to_end(folder / "a.nfr", EndCause::kDiskFull, "No space left on device");
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

TEST(RecordingOutput, TellsEveryKindOfFullApart) {
  EXPECT_EQ(cause_of(ENOSPC), EndCause::kDiskFull);
  EXPECT_EQ(cause_of(EDQUOT), EndCause::kQuota);
  EXPECT_EQ(cause_of(EFBIG), EndCause::kFileSizeLimit);
  EXPECT_EQ(cause_of(EROFS), EndCause::kReadOnly);
  EXPECT_EQ(cause_of(EIO), EndCause::kIoError);
}

TEST(Recorder, AFileThatCannotBeCreatedIsTheEnd) {
  const TemporaryFolder folder;
  Recorder recorder(options_for(folder / "missing/a.nfr"));
  recorder.start();
  const RecorderStatus status = wait_for(recorder, RecordingState::kEnded);
  EXPECT_EQ(status.end_cause, EndCause::kNotOpened);
  EXPECT_NE(status.end_reason.find("No such file"), std::string::npos) << status.end_reason;
}

TEST(Recorder, RefusesSettingsThatMakeNoSense) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for("");
  EXPECT_THROW(Recorder{options}, ConfigError);
  options = options_for(folder / "a.nfr");
  options.bits = options.images = false;
  EXPECT_THROW(Recorder{options}, ConfigError);
  options = options_for(folder / "a.nfr");
  set_level(options, {.level = 0.0});
  EXPECT_THROW(Recorder{options}, ConfigError);
}

/// What a queue that is too small drops is counted by the recorder as it is by the file.
TEST(Recorder, DropsAreCountedExactly) {
  const TemporaryFolder folder;
  RecorderOptions options = options_for(folder / "a.nfr");
  options.settings.bits_queue_bytes = 20'000;
  Recorder recorder(options);
  start(recorder);
  constexpr std::uint64_t kPieces = 20'000;
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    push_bits(recorder, piece * 64, 64);
  }
  const RecorderStatus status = stop(recorder);
  nfr::Reader reader{std::filesystem::path(status.path)};
  const nfr::BitsSummary& bits = reader.summary().bits;
  EXPECT_EQ(bits.received + bits.dropped, kPieces * 64) << "what was dropped last is in the file, too";
  EXPECT_EQ(bits.end_bit_time, kPieces * 64);
  EXPECT_EQ(bits.dropped, status.dropped_pieces * 64);
  EXPECT_TRUE(status.bits == bits);
  EXPECT_EQ(reader.summary().end->dropped_bit_times, bits.dropped);
  EXPECT_EQ(check_bits(reader).wrong_words, 0U);
}

/// A 32 x 32 array at its own pace, for NEARFIELD_RECORD_SECONDS; prints what the machine made of it.
TEST(Recorder, KeepsAStreamAtItsOwnPace) {
  const TemporaryFolder folder;
  const char* asked = std::getenv("NEARFIELD_RECORD_SECONDS");
  const double seconds = asked == nullptr ? 0.2 : std::atof(asked);
  RecorderOptions options = options_for(folder / "a.nfr");
  options.info.measurement.geometry = {.rows = 32, .columns = 32, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  options.settings.bits_queue_bytes = 64 << 20;
  options.images = false;
  Recorder recorder(options);
  start(recorder);
  std::vector<std::uint32_t> words(256 * 32, 0x5A5A5A5AU);
  const std::int64_t begin_ns = monotonic_ns();
  std::int64_t longest_ns = 0;
  std::uint64_t at = 0;
  const auto end = static_cast<std::uint64_t>(seconds * kBitRateHz) / 256 * 256;
  while (at < end) {
    const auto due = static_cast<std::uint64_t>(static_cast<double>(monotonic_ns() - begin_ns) * 1.5e-3);
    for (; at + 256 <= std::min(due, end); at += 256) {
      words[0] = static_cast<std::uint32_t>(at);
      const std::int64_t before_ns = monotonic_ns();
      recorder.push({.first_bit_time = at, .bit_times = 256, .words = words, .missing = {}});
      longest_ns = std::max(longest_ns, monotonic_ns() - before_ns);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  const RecorderStatus status = stop(recorder);
  const double wall_s = static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  std::printf(
      "%.1f MB in %.2f s: %.1f MB/s, %llu of %llu pieces dropped, longest push %.1f us, CPU %.2f s user, %.2f s "
      "system\n",
      static_cast<double>(status.bytes) * 1e-6, wall_s, static_cast<double>(status.bytes) * 1e-6 / wall_s,
      static_cast<unsigned long long>(status.dropped_pieces), static_cast<unsigned long long>(end / 256),
      static_cast<double>(longest_ns) * 1e-3, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime));
  const nfr::Reader reader{std::filesystem::path(status.path)};
  EXPECT_EQ(reader.summary().bits.received + reader.summary().bits.dropped, end);
}

}  // namespace
}  // namespace nearfield::test
