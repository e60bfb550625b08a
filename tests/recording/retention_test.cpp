#include "recording/retention.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "files/nfr/nfr_format.hpp"
#include "recording/output.hpp"
#include "recording/recording_support.hpp"

namespace nearfield {
namespace {

using test::TemporaryFolder;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20U;
constexpr int kHour_s = 3600;

/// A folder of recordings of one MiB each, `hours` old.
class RetentionTest : public testing::Test {
 protected:
  std::string add(const std::string& name, int hours) const {
    std::vector<std::byte> bytes;
    nfr::append_record(bytes, {.kind = nfr::Kind::kFile}, std::as_bytes(std::span(std::string_view("{}"))));
    bytes.resize(kMebi);
    std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), kMebi);
    set_age(path, hours);
    return path;
  }
  static void set_age(const std::string& path, int hours) {
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  }
  [[nodiscard]] FolderUsage make(std::uint64_t wanted_bytes = 0) const {
    return make_room(folder_ / "", settings_, wanted_bytes,
                     RetentionTime{.now_ns = clock_ns(CLOCK_REALTIME), .young = young_});
  }
  [[nodiscard]] static std::vector<std::string> names_of(const FolderUsage& room) {
    std::vector<std::string> names;
    for (const FolderUsage::Removed& one : room.removed) {
      names.push_back(one.path.filename().string());
    }
    return names;
  }

  TemporaryFolder folder_;
  std::set<std::filesystem::path> young_;
  DaemonSettings::Recording settings_ = [] {
    DaemonSettings::Recording settings;
    settings.remove_oldest = true;
    settings.quota_bytes = 0;
    return settings;
  }();
};

TEST_F(RetentionTest, TheOldestGoUntilThereIsRoomInTheQuota) {
  for (int i = 1; i <= 5; ++i) {
    add("r" + std::to_string(i) + ".nfr", i);
  }
  settings_.quota_bytes = 4 * kMebi;
  const FolderUsage room = make(kMebi);
  EXPECT_THAT(names_of(room), ElementsAre("r5.nfr", "r4.nfr"));
  EXPECT_THAT(room.removed[0].why, HasSubstr("quota_bytes"));
  EXPECT_EQ(room.used_bytes, 3 * kMebi);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "r5.nfr"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "r3.nfr"));
  EXPECT_THAT(names_of(make(kMebi)), IsEmpty()) << "there is room now";
}

TEST_F(RetentionTest, NothingGoesUnlessTheSettingsSaySo) {
  add("a.nfr", 10);
  add("b.nfr", 1);
  settings_.quota_bytes = kMebi;
  settings_.max_age_s = 1.0;
  settings_.remove_oldest = false;
  const FolderUsage room = make(kMebi);
  EXPECT_THAT(names_of(room), IsEmpty());
  EXPECT_EQ(room.used_bytes, 2 * kMebi);
}

TEST_F(RetentionTest, TheNewestGoesForItsAgeAlone) {
  add("old.nfr", 3);
  add("new.nfr", 2);
  settings_.quota_bytes = kMebi;
  EXPECT_THAT(names_of(make(kMebi)), ElementsAre("old.nfr"));
  settings_.max_age_s = 2.5 * kHour_s;
  EXPECT_THAT(names_of(make()), IsEmpty());
  settings_.max_age_s = 1.5 * kHour_s;
  const FolderUsage room = make();
  EXPECT_THAT(names_of(room), ElementsAre("new.nfr"));
  EXPECT_THAT(room.removed[0].why, HasSubstr("max_age_s: 7200 s old"));
}

TEST_F(RetentionTest, AgeSparesTheYounger) {
  for (const int hours : {1, 3, 5}) {
    add("r" + std::to_string(hours) + ".nfr", hours);
  }
  settings_.max_age_s = 2.0 * kHour_s;
  EXPECT_THAT(names_of(make()), ElementsAre("r5.nfr", "r3.nfr"));
}

TEST_F(RetentionTest, TheDiskKeepsItsFreeSpace) {
  struct statvfs disk {};
  ASSERT_EQ(statvfs((folder_ / "").c_str(), &disk), 0);
  add("old.nfr", 2);
  add("middle.nfr", 1);
  add("new.nfr", 0);
  const std::uint64_t free_bytes = make().free_bytes.value_or(0);
  EXPECT_GT(free_bytes, 0U);
  settings_.keep_free_bytes = static_cast<std::int64_t>(free_bytes / 2);
  EXPECT_THAT(names_of(make()), IsEmpty());
  // Half a MiB more than is free is reached by one of one MiB, if nothing else changes the disk by half a MiB.
  settings_.keep_free_bytes = static_cast<std::int64_t>(make().free_bytes.value_or(0) + kMebi / 2);
  const FolderUsage room = make();
  ASSERT_THAT(names_of(room), Not(IsEmpty()));
  EXPECT_EQ(names_of(room)[0], "old.nfr");
  EXPECT_THAT(room.removed[0].why, HasSubstr("keep_free_bytes"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "new.nfr"));
}

TEST_F(RetentionTest, NothingGoesForFreeSpaceThatCannotBeHad) {
  add("old.nfr", 2);
  add("new.nfr", 0);
  settings_.keep_free_bytes = std::int64_t{1} << 60;  // more than there is
  const FolderUsage room = make();
  EXPECT_THAT(names_of(room), IsEmpty());
  EXPECT_THAT(room.problem, HasSubstr("keep_free_bytes"));
}

// The disk keeps the blocks of a file that has another name.
TEST_F(RetentionTest, WhatHasTwoNamesFreesNothing) {
  const TemporaryFolder elsewhere;
  std::filesystem::create_hard_link(add("linked.nfr", 9), elsewhere / "kept");
  add("old.nfr", 8);
  add("new.nfr", 1);
  settings_.keep_free_bytes = static_cast<std::int64_t>(make().free_bytes.value_or(0) + kMebi / 2);
  EXPECT_THAT(names_of(make()), Not(Contains("linked.nfr")));
  settings_.keep_free_bytes = 0;
  settings_.quota_bytes = kMebi;
  EXPECT_THAT(names_of(make()), Contains("linked.nfr")) << "the quota counts names";
}

// A file that cannot be removed, as large as the quota, costs no recording.
TEST_F(RetentionTest, NothingGoesForAQuotaThatCannotBeReached) {
  std::ofstream(folder_ / "foreign.nfr") << "x";
  std::filesystem::resize_file(folder_ / "foreign.nfr", 300 * kMebi);
  for (const int hours : {1, 2, 3}) {
    add("r" + std::to_string(hours) + ".nfr", hours);
  }
  settings_.quota_bytes = 256 * kMebi;
  FolderUsage room = make(kMebi);
  EXPECT_THAT(names_of(room), IsEmpty());
  EXPECT_THAT(room.problem, HasSubstr("quota_bytes"));
  settings_.max_age_s = 2.5 * kHour_s;
  EXPECT_THAT(names_of(make(kMebi)), ElementsAre("r3.nfr")) << "age is another matter";
  // What is wanted cannot be had, the quota itself can: it is kept, and no more goes than that.
  settings_.max_age_s = 0.0;
  settings_.quota_bytes = 301 * kMebi;
  room = make(kMebi);
  EXPECT_THAT(names_of(room), ElementsAre("r2.nfr"));
  EXPECT_EQ(room.problem, "");
}

// The newest that is no recording does not stand for the newest recording.
TEST_F(RetentionTest, TheNewestRecordingStaysBesideNewerFilesOfOthers) {
  add("old.nfr", 3);
  add("new.nfr", 2);
  std::ofstream(folder_ / "foreign.nfr") << "x";
  settings_.quota_bytes = kMebi + kMebi / 2;
  EXPECT_THAT(names_of(make(kMebi)), ElementsAre("old.nfr"));
}

TEST_F(RetentionTest, WhatIsWrittenStays) {
  const std::string written = add("written.nfr", 8);
  add("closed.nfr", 7);
  add("new.nfr", 1);
  settings_.quota_bytes = 2 * kMebi;
  {
    const FileDescriptor writer(open(written.c_str(), O_WRONLY | O_APPEND));
    ASSERT_EQ(flock(writer.get(), LOCK_EX), 0);
    EXPECT_THAT(names_of(make()), ElementsAre("closed.nfr"));
    settings_.quota_bytes = kMebi;
    EXPECT_THAT(names_of(make()), IsEmpty());
    EXPECT_THAT(make().problem, HasSubstr("being written"));
  }
  EXPECT_THAT(names_of(make()), ElementsAre("written.nfr"));
}

TEST_F(RetentionTest, AReaderKeepsWhatIsRemoved) {
  std::ifstream reader(add("read.nfr", 9), std::ios::binary);
  add("new.nfr", 1);
  settings_.quota_bytes = kMebi;
  EXPECT_THAT(names_of(make()), ElementsAre("read.nfr"));
  std::string bytes(kMebi, 'x');
  EXPECT_TRUE(reader.read(bytes.data(), static_cast<std::streamsize>(kMebi)));
  EXPECT_EQ(bytes.substr(0, 4), "NFR1");
}

TEST_F(RetentionTest, AFolderThatCannotBeOpenedIsAProblem) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THAT(make_room(folder_ / "file", settings_, kMebi, std::nullopt).problem, HasSubstr("can't be opened"));
}

TEST_F(RetentionTest, WhatThisProcessHasJustFinishedIsYoung) {
  young_.insert(add("mine.nfr", 24 * 365 * 50));
  add("old.nfr", 3);
  settings_.max_age_s = 2.0 * kHour_s;
  EXPECT_THAT(names_of(make()), ElementsAre("old.nfr"));
  EXPECT_THAT(names_of(make_room(folder_ / "", settings_, 0, std::nullopt)), IsEmpty()) << "the time is not known";
}

/// Clocks that a test sets.
class RetentionTimesTest : public testing::Test {
 protected:
  void pass(std::int64_t seconds) {
    boottime_s_ += seconds;
    realtime_s_ += seconds;
  }
  std::int64_t boottime_s_ = 3 * kHour_s;
  std::int64_t realtime_s_ = 0;  // 1970: no battery
  RetentionTimes times_{{.realtime_ns = [this] { return realtime_s_ * kNsPerSecond; },
                         .boottime_ns = [this] { return boottime_s_ * kNsPerSecond; }}};
};

TEST_F(RetentionTimesTest, NoAgeCountsForADayAfterAStepOfTheClock) {
  constexpr double kMaxAge_s = 30.0 * 24 * kHour_s;
  EXPECT_TRUE(times_.now(kMaxAge_s));
  pass(2);
  EXPECT_TRUE(times_.now(kMaxAge_s));
  times_.finished("a.nfr");
  pass(2);
  realtime_s_ += 1'700'000'000;  // the time service answers
  EXPECT_FALSE(times_.now(kMaxAge_s));
  pass(23 * kHour_s);
  EXPECT_FALSE(times_.now(kMaxAge_s));
  pass(2 * kHour_s);
  const std::optional<RetentionTime> time = times_.now(kMaxAge_s);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->now_ns, realtime_s_ * kNsPerSecond);
  EXPECT_THAT(time->young, ElementsAre(std::filesystem::path("a.nfr")));
  pass(30 * 24 * kHour_s);
  EXPECT_THAT(times_.now(kMaxAge_s)->young, IsEmpty());
}

TEST_F(RetentionTimesTest, AShortMaxAgeShortensTheWait) {
  EXPECT_TRUE(times_.now(1.0 * kHour_s));
  realtime_s_ -= 61;
  EXPECT_FALSE(times_.now(1.0 * kHour_s));
  pass(kHour_s);
  EXPECT_TRUE(times_.now(1.0 * kHour_s));
}

TEST_F(RetentionTimesTest, TheClockMayDrift) {
  for (int i = 0; i < 100; ++i) {
    pass(2);
    ++realtime_s_;
    EXPECT_TRUE(times_.now(1.0 * kHour_s)) << i;
  }
}

TEST_F(RetentionTimesTest, NoAgeCountsUntilTheTimeServiceCouldAnswer) {
  boottime_s_ = 100;
  realtime_s_ = 100;
  RetentionTimes times({.realtime_ns = [this] { return realtime_s_ * kNsPerSecond; },
                        .boottime_ns = [this] { return boottime_s_ * kNsPerSecond; }});
  EXPECT_FALSE(times.now(1.0 * kHour_s));
  pass(15 * 60);
  EXPECT_TRUE(times.now(1.0 * kHour_s));
}

/// A process of its own, as another daemon: what it writes stays until it has ended, however it ends.
TEST_F(RetentionTest, WhatAnotherProcessWritesStays) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t other = fork();
  if (other == 0) {
    RecordingOutput output(folder_ / "a.nfr", 0);
    std::vector<std::byte> bytes;
    nfr::append_record(bytes, {.kind = nfr::Kind::kFile}, std::as_bytes(std::span(std::string_view("{}"))));
    bytes.resize(kMebi);
    const bool is_written = output.append(bytes) == 0;
    [[maybe_unused]] const ssize_t told = write(ends[1], is_written ? "1" : "0", 1);
    pause();
    _exit(0);
  }
  char is_written = '0';
  ASSERT_EQ(read(ends[0], &is_written, 1), 1);
  ASSERT_EQ(is_written, '1');
  set_age(folder_ / "a.nfr", 9);
  add("b.nfr", 1);
  settings_.quota_bytes = kMebi;
  EXPECT_THAT(names_of(make()), IsEmpty());
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_THAT(names_of(make()), ElementsAre("a.nfr"));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(RetentionTest, WhatNearfieldDidNotMakeStays) {
  std::ofstream(folder_ / "mine.nfr") << std::string(kMebi, 'x');
  std::ofstream(folder_ / "short.nfr") << "NFR1";
  std::ofstream(folder_ / "notes.txt") << "x";
  std::filesystem::create_directory(folder_ / "folder.nfr");
  const TemporaryFolder elsewhere;
  const std::string linked = add("linked", 9);
  std::filesystem::rename(linked, elsewhere / "linked.nfr");
  std::filesystem::create_symlink(elsewhere / "linked.nfr", folder_ / "link.nfr");
  for (const char* name : {"mine.nfr", "short.nfr", "notes.txt"}) {
    set_age(folder_ / name, 99);
  }
  add("recording.nfr", 5);
  add("new.nfr", 0);
  settings_.max_age_s = 1.0 * kHour_s;
  EXPECT_THAT(names_of(make()), ElementsAre("recording.nfr"));
  for (const char* name : {"mine.nfr", "short.nfr", "notes.txt", "folder.nfr", "link.nfr"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "linked.nfr"));
}

TEST_F(RetentionTest, TwoThatMakeRoomAtOnceRemoveNoMoreThanOne) {
  for (int i = 1; i <= 40; ++i) {
    add("r" + std::to_string(100 + i) + ".nfr", i);
  }
  settings_.quota_bytes = 20 * kMebi;
  std::atomic<std::size_t> removed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { removed += make().removed.size(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(removed, 20U);
  EXPECT_EQ(make().used_bytes, 20 * kMebi);
}

TEST_F(RetentionTest, AFolderThatIsNotThereIsEmpty) {
  const FolderUsage room = make_room(folder_ / "nowhere", settings_, kMebi, std::nullopt);
  EXPECT_EQ(room.used_bytes, 0U);
  EXPECT_EQ(room.free_bytes, std::nullopt) << "not known, which is not a full disk";
  EXPECT_EQ(room.problem, "");
}

TEST_F(RetentionTest, TheKeeperLooksAtOnceAndCounts) {
  add("old.nfr", 9);
  add("new.nfr", 1);
  settings_.directory = folder_ / "";
  settings_.max_age_s = 5.0 * kHour_s;
  std::atomic<int> calls{0};
  RetentionKeeper keeper([&](const FolderUsage&) { ++calls; },
                         {.realtime_ns = [] { return clock_ns(CLOCK_REALTIME); },
                          .boottime_ns = [] { return clock_ns(CLOCK_BOOTTIME) + RetentionTimes::kSettleNs; }});
  keeper.use(settings_);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (calls == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(keeper.account().removed, 1U);
  EXPECT_EQ(keeper.account().removed_bytes, kMebi);
  EXPECT_EQ(keeper.account().used_bytes, kMebi);
  EXPECT_GT(keeper.account().free_bytes.value_or(0), 0U);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace nearfield
