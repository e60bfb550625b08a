#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
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

}  // namespace
}  // namespace nearfield::control
