#include "control/service/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::control {
namespace {

using testing::ElementsAre;

/// A log on a clock that the test turns.
class Bench {
 public:
  std::atomic<std::int64_t> now_ns{5'000'000'000};
  RateLimitedLog log;

  Bench() : log(make_logger(), [this] { return now_ns.load(); }) {}

  std::vector<std::string> lines() {
    std::istringstream stream(out_.str());
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);) {
      result.push_back(line);
    }
    out_.str("");
    return result;
  }

 private:
  std::shared_ptr<spdlog::logger> make_logger() {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(out_));
    logger->set_pattern("%l: %v");
    return logger;
  }

  std::ostringstream out_;
};

TEST(RateLimitedLog, PassesTenLinesASecondAndSaysHowManyMore) {
  Bench bench;
  for (int i = 0; i < 25; ++i) {
    bench.log.log(spdlog::level::warn, "late", "packet {}", i);
    bench.now_ns += 1'000'000;
  }
  std::vector<std::string> lines = bench.lines();
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines.front(), "warning: packet 0 cause=late");
  EXPECT_EQ(lines.back(), "warning: packet 9 cause=late");
  bench.now_ns += 974'999'999;  // one nanosecond before the second is over
  bench.log.flush();
  EXPECT_THAT(bench.lines(), ElementsAre());
  bench.now_ns += 1;
  bench.log.flush();
  EXPECT_THAT(bench.lines(), ElementsAre("warning: 15 more suppressed cause=late"));
  bench.log.flush();
  EXPECT_THAT(bench.lines(), ElementsAre());
}

TEST(RateLimitedLog, TellsWithTheNextLineWithoutAFlush) {
  Bench bench;
  for (int i = 0; i < 12; ++i) {
    bench.log.log(i == 11 ? spdlog::level::err : spdlog::level::info, "crc", "bad");
  }
  bench.lines();
  bench.now_ns += 1'000'000'000;
  bench.log.log(spdlog::level::info, "crc", "again");
  EXPECT_THAT(bench.lines(), ElementsAre("error: 2 more suppressed cause=crc", "info: again cause=crc"));
}

/// Lines of `seconds` of a cause that has one every 200 ms, with a flush a second.
std::size_t lines_of(Bench& bench, int seconds) {
  std::size_t lines = 0;
  for (int i = 0; i < 5 * seconds; ++i) {
    bench.log.log(spdlog::level::warn, "crc", "1 more");
    bench.now_ns += 200'000'000;
    if (i % 5 == 4) {
      bench.log.flush();
    }
    lines += bench.lines().size();
  }
  return lines;
}

// A fault that stays must not fill the disk with its lines: a day of it has 16 thousand of them, not 432 thousand.
TEST(RateLimitedLog, WhatRepeatsEndlesslyWritesFewerLines) {
  Bench bench;
  EXPECT_EQ(lines_of(bench, 1), 5U) << "nothing is suppressed at first";
  EXPECT_LE(lines_of(bench, 119), 70U);
  EXPECT_LE(lines_of(bench, 600), 110U);
  EXPECT_GE(lines_of(bench, 600), 100U) << "it is still heard of";
}

TEST(RateLimitedLog, AfterSilenceEveryLineIsThere) {
  Bench bench;
  lines_of(bench, 600);
  bench.now_ns += 130'000'000'000;
  bench.log.flush();
  bench.lines();
  bench.now_ns += 1'000'000'000;
  EXPECT_EQ(lines_of(bench, 2), 10U);
}

// One event every ten seconds, for hours: all of them are there.
TEST(RateLimitedLog, RareEventsAreAllThere) {
  Bench bench;
  std::size_t lines = 0;
  for (int i = 0; i < 1000; ++i) {
    bench.log.log(spdlog::level::info, "limit", "exceeded");
    bench.now_ns += 10'000'000'000;
    bench.log.flush();
    lines += bench.lines().size();
  }
  EXPECT_EQ(lines, 1000U);
}

TEST(RateLimitedLog, CausesDoNotShare) {
  Bench bench;
  for (int i = 0; i < 30; ++i) {
    bench.log.log(spdlog::level::info, "a", "x");
  }
  bench.lines();
  bench.log.log(spdlog::level::info, "b", "y");
  EXPECT_THAT(bench.lines(), ElementsAre("info: y cause=b"));
}

TEST(RateLimitedLog, BoundsItsMemory) {
  Bench bench;
  for (int cause = 0; cause < 1000; ++cause) {
    bench.log.log(spdlog::level::info, "cause" + std::to_string(cause), "x");
  }
  EXPECT_EQ(bench.lines().size(), RateLimitedLog::kMostCauses + RateLimitedLog::kMostLines);
  bench.now_ns += 1'000'000'000;
  bench.log.flush();
  EXPECT_THAT(bench.lines(), ElementsAre("info: 926 more suppressed cause=other"));
}

TEST(RateLimitedLog, CountsEveryLineOfEveryThread) {
  Bench bench;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&bench] {
      for (int i = 0; i < 1000; ++i) {
        bench.log.log(spdlog::level::info, "same", "x");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(bench.lines().size(), 10U);
  bench.now_ns += 1'000'000'000;
  bench.log.flush();
  EXPECT_THAT(bench.lines(), ElementsAre("info: 3990 more suppressed cause=same"));
}

TEST(Log, GoesToTheJournalOnlyWhenStderrIsIts) {
  unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(stderr_is_journal());
  setenv("JOURNAL_STREAM", "1:1", 1);
  EXPECT_FALSE(stderr_is_journal());
  struct stat status {};
  ASSERT_EQ(fstat(2, &status), 0);
  setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  EXPECT_TRUE(stderr_is_journal());
  unsetenv("JOURNAL_STREAM");
}

TEST(Log, WritesToStderrWhatTheLevelLetsThrough) {
  testing::internal::CaptureStderr();
  const auto before = spdlog::default_logger();
  set_up_log({DaemonSettings::LogTarget::kStderr, DaemonSettings::LogLevel::kWarning});
  spdlog::info("quiet");
  spdlog::warn("loud");
  set_log_level(DaemonSettings::LogLevel::kInfo);
  spdlog::info("now heard");
  spdlog::shutdown();
  spdlog::set_default_logger(before);
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_THAT(written,
              testing::AllOf(testing::HasSubstr("nearfieldd: warning: loud\n"), testing::HasSubstr("info: now heard"),
                             testing::Not(testing::HasSubstr("quiet"))));
}

}  // namespace
}  // namespace nearfield::control
