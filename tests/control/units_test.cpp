#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/config.hpp"
#include "support/command.hpp"

namespace nearfield::control {
namespace {

const std::string kUnit = NEARFIELD_SOURCE_DIR "/config/systemd/nearfieldd.service";
const std::string kPoclDropIn = NEARFIELD_SOURCE_DIR "/config/systemd/nearfieldd.service.d/pocl.conf";

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// systemd reads a unit and its drop-ins as one text, in this order.
std::string unit_text(bool pocl) { return read_file(kUnit) + (pocl ? read_file(kPoclDropIn) : ""); }

/// Exit status of systemd's own judgement; the threshold is ten times the exposure.
int judge(const std::string& unit, int threshold) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "nearfieldd.service";
  std::ofstream(path) << unit;
  const std::string command =
      "systemd-analyze security --offline=true --no-pager --threshold=" + std::to_string(threshold) + " " + path +
      " > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Units, ExposureStaysBelowItsBound) {
  EXPECT_EQ(judge(unit_text(false), 20), 0) << "with a GPU at most 2.0";
  EXPECT_EQ(judge(unit_text(true), 15), 0) << "with PoCL at most 1.5";
}

TEST(Units, TheJudgeCanSayNo) {
  EXPECT_EQ(judge(unit_text(true), 1), 1);
  EXPECT_EQ(judge("[Service]\nExecStart=/usr/bin/nearfieldd\n", 20), 1) << "a unit without any hardening";
}

TEST(Units, HaveTheFoldersThatTheDefaultsName) {
  const std::string unit = unit_text(false);
  const DaemonSettings daemon;
  EXPECT_EQ(daemon.control.socket.rfind("/run/nearfield/", 0), 0U);
  EXPECT_EQ(daemon.publish.ring.socket.rfind("/run/nearfield/", 0), 0U);
  EXPECT_EQ(daemon.recording.directory, "/var/lib/nearfield");
  for (const char* line : {"\nType=notify\n", "\nRestart=always\n", "\nRuntimeDirectory=nearfield\n",
                           "\nStateDirectory=nearfield\n", "\nCacheDirectory=nearfield\n", "\nDynamicUser=yes\n"}) {
    EXPECT_THAT(unit, testing::HasSubstr(line));
  }
}

/// The shell line of `key` in the drop-in for PoCL, as systemd hands it to sh.
std::string shell_line(const std::string& key) {
  const std::string unit = read_file(kPoclDropIn);
  const std::string begin = "\n" + key + "=/bin/sh -c '";
  const std::size_t from = unit.find(begin) + begin.size();
  std::string line = unit.substr(from, unit.find("'\n", from) - from);
  for (std::size_t at = line.find("$$"); at != std::string::npos; at = line.find("$$", at)) {
    line.erase(at, 1);
  }
  return line;
}

/// Runs one life of the service after its start, as systemd does; whether the cache is still there.
bool cache_survives(bool was_ready, const std::string& result, const std::string& exit_status) {
  const test::TemporaryFolder folder;
  const std::string kernel = folder / "cache/pocl/tempfile.so";
  std::filesystem::create_directories(folder / "cache/pocl");
  std::filesystem::create_directories(folder / "run");
  std::ofstream(kernel) << "damaged";
  const auto run = [&](const std::string& key) {
    std::ofstream(folder / "line.sh") << shell_line(key);
    const std::string command = "CACHE_DIRECTORY=" + (folder / "cache") + " RUNTIME_DIRECTORY=" + (folder / "run") +
                                " SERVICE_RESULT=" + result + " EXIT_STATUS=" + exit_status + " sh " +
                                (folder / "line.sh");
    EXPECT_EQ(std::system(command.c_str()), 0) << key;
  };
  if (was_ready) {
    run("ExecStartPost");
  }
  run("ExecStopPost");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "run")) << "the next start is not ready yet";
  return std::filesystem::exists(kernel);
}

TEST(Units, ADamagedCacheBlocksOneStartOnly) {
  for (const bool was_ready : {false, true}) {
    SCOPED_TRACE(was_ready ? "ready" : "starting");
    EXPECT_EQ(cache_survives(was_ready, "signal", "SEGV"), was_ready);
    EXPECT_EQ(cache_survives(was_ready, "core-dump", "BUS"), was_ready);
    EXPECT_EQ(cache_survives(was_ready, "timeout", "TERM"), was_ready);
    EXPECT_EQ(cache_survives(was_ready, "exit-code", "69"), was_ready);
    EXPECT_EQ(cache_survives(was_ready, "exit-code", "70"), was_ready);
    for (const char* harmless : {"64", "66", "74", "75", "78"}) {
      EXPECT_TRUE(cache_survives(was_ready, "exit-code", harmless)) << harmless;
    }
    EXPECT_TRUE(cache_survives(was_ready, "success", "0"));
  }
}

}  // namespace
}  // namespace nearfield::control
