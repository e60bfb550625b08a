#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/command.hpp"
#include "support/recorded_bits.hpp"
#include "support/recordings.hpp"

/// `nearfield play`.
namespace nearfield {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kPlayTimeout{120};  // PoCL may compile for seconds on a busy machine

class Play : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "run");
    std::filesystem::create_directory(folder_ / "tmp");
  }
  void TearDown() override {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }
  void start(const std::string& arguments) {
    process_ = fork();
    if (process_ == 0) {
      const std::string line =
          environment() + " exec " + NEARFIELD_BINARY + " play " + arguments + " >" + (folder_ / "log") + " 2>&1";
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
  }
  [[nodiscard]] std::string environment() const {
    return "NEARFIELD_RUNTIME_DIR=" + (folder_ / "run") + " TMPDIR=" + (folder_ / "tmp");
  }
  [[nodiscard]] std::string log() const {
    std::ostringstream text;
    text << std::ifstream(folder_ / "log").rdbuf();
    return text.str();
  }
  /// The only folder below the user's.
  [[nodiscard]] std::filesystem::path sockets() const {
    const std::filesystem::directory_iterator first(folder_ / "run");
    return first == std::filesystem::directory_iterator() ? std::filesystem::path() : first->path();
  }
  /// The answer to `nearfield ctl`; null while there is none.
  [[nodiscard]] nlohmann::json ask(const std::string& command) const {
    const test::CommandResult result =
        test::run_nearfield("ctl --json --socket " + (sockets() / "control.sock").string() + " " + command);
    return result.exit_code == 0 ? nlohmann::json::parse(result.output) : nlohmann::json();
  }
  void wait_for_frames() {
    const auto end = std::chrono::steady_clock::now() + kPlayTimeout;
    while (std::chrono::steady_clock::now() < end) {
      if (waitpid(process_, nullptr, WNOHANG) == process_) {
        process_ = 0;
        break;
      }
      if (const nlohmann::json status = ask("status"); status.is_object() && status.at("frames") > 0) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << "no frames: " << log();
  }
  int interrupt(int signal = SIGINT) {
    kill(process_, signal);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void expect_nothing_left() const {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "run"));
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
  }

  test::TemporaryFolder folder_;
  pid_t process_ = 0;
};

TEST_F(Play, ARecordingIsPlayedWithItsSettingsAndLeavesNothing) {
  test::write_recording_of_bits(folder_ / "take.nfr", test::kRecordedSettings, 64 * 1024);
  start((folder_ / "take.nfr") + " --set medium.sound_speed_m_s=350 --set daemon.deadlines.frame_ms=60000");
  ASSERT_NO_FATAL_FAILURE(wait_for_frames());
  const auto yaml = ask("config").at("yaml").get<std::string>();
  EXPECT_THAT(yaml, HasSubstr("frequencies_hz: [1464.84375]"));
  EXPECT_THAT(yaml, HasSubstr("sound_speed_m_s: 350"));
  EXPECT_THAT(log(), HasSubstr(sockets() / "frames.sock"));
  EXPECT_EQ(interrupt(), 0) << log();
  expect_nothing_left();
}

// A configuration of a live array is played without its recordings and without its port of ZeroMQ; a terminal that
// closes ends the daemon.
TEST_F(Play, TheConfigurationOfALiveArrayIsPlayedAsItIs) {
  test::write_recording_of_bits(folder_ / "take.nfr", test::kRecordedSettings, 64 * 1024);
  std::ofstream(folder_ / "live.yaml")
      << test::kRecordedSettings
      << "daemon:\n"
         "  source: {pace: fast}\n"
         "  publish: {zmq: {endpoint: \"tcp://127.0.0.1:7231\"}}\n"
         "  recording: {trigger: limit, directory: /var/empty/none, remove_oldest: true, "
         "max_age_s: 60}\n"
         "  deadlines: {frame_ms: 60000}\n"
         "  limits: {loud: {above: 1, record: true}}\n";
  start((folder_ / "take.nfr") + " -c " + (folder_ / "live.yaml"));
  ASSERT_NO_FATAL_FAILURE(wait_for_frames());
  const auto yaml = ask("config").at("yaml").get<std::string>();
  EXPECT_THAT(yaml, HasSubstr("pace: realtime"));
  EXPECT_THAT(yaml, HasSubstr("endpoint: off"));
  EXPECT_THAT(yaml, HasSubstr("trigger: none"));
  EXPECT_THAT(yaml, HasSubstr("remove_oldest: false"));
  EXPECT_THAT(yaml, HasSubstr("max_age_s: off"));
  EXPECT_THAT(yaml, Not(HasSubstr("record: true")));
  EXPECT_EQ(interrupt(SIGHUP), 0) << log();
  expect_nothing_left();
}

// Headers are looked for in all of a file: in a sparse one that takes hours, in which a signal did nothing.
TEST_F(Play, ASignalEndsItWhileItPrepares) {
  test::write_recording_of_bits(folder_ / "sparse.nfr", test::kRecordedSettings, 64 * 1024);
  std::filesystem::resize_file(folder_ / "sparse.nfr", std::uintmax_t{1} << 40U);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    start(folder_ / "sparse.nfr");
    const auto begun = std::chrono::steady_clock::now();
    while (std::filesystem::is_empty(folder_ / "tmp") && std::chrono::steady_clock::now() < begun + kPlayTimeout) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(process_, signal);
    int status = 0;
    pid_t ended = 0;
    const auto asked = std::chrono::steady_clock::now();
    while ((ended = waitpid(process_, &status, WNOHANG)) == 0 &&
           std::chrono::steady_clock::now() < asked + kPlayTimeout) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_EQ(ended, process_) << "signal " << signal << " ends it: " << log();
    process_ = 0;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << log();
    expect_nothing_left();
  }
}

TEST_F(Play, WhatHasNoBitsIsRefusedAndLeavesNothing) {
  test::write_recording_of_bits(folder_ / "empty.nfr", test::kRecordedSettings, 0);
  EXPECT_EQ(test::run_nearfield("play " + (folder_ / "empty.nfr"), environment()).exit_code, 65);
  EXPECT_EQ(test::run_nearfield("play " + (folder_ / "none.nfr"), environment()).exit_code, 66);
  test::write_random_capture(folder_ / "capture.h5", 64 * 1024);
  const test::CommandResult wrong =
      test::run_nearfield("play " + (folder_ / "capture.h5") + " --set front_end.window_samples=1", environment());
  EXPECT_EQ(wrong.exit_code, 78) << wrong.output;
  expect_nothing_left();
}

}  // namespace
}  // namespace nearfield
