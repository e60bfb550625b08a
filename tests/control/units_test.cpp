#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "nearfield/runtime_folder.h"
#include "support/command.hpp"
#include "support/places.hpp"

namespace nearfield::control {
namespace {

const std::string kFolder = NEARFIELD_SOURCE_DIR "/config/systemd/";
const std::string kUnit = kFolder + "nearfieldd.service";
const std::string kTemplate = kFolder + "nearfieldd@.service";
const std::string kPoclDropIn = kFolder + "devices/pocl.conf";

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
  for (const std::string& unit : {kUnit, kTemplate}) {
    const std::string on_the_processor = read_file(unit) + read_file(kPoclDropIn);
    EXPECT_EQ(judge(on_the_processor, 15), 0) << unit;
    for (const char* device : {"nvidia", "amd", "camera", "audio"}) {
      EXPECT_EQ(judge(on_the_processor + read_file(kFolder + "devices/" + device + ".conf"), 15), 0)
          << unit << ", " << device;
    }
  }
}

/// The settings of a unit, without comments, in its order.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) {
    if (!line.empty() && line.front() != '#') {
      lines.push_back(line);
    }
  }
  return lines;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(Units, TheTemplateIsTheUnitWithFoldersOfItsOwn) {
  std::string expected = read_file(kUnit);
  expected = replaced(expected, "holography\n", "holography, array %i\n");
  expected = replaced(expected, "/etc/nearfield/nearfield.yaml", "/etc/nearfield/%i.yaml");
  expected = replaced(expected, "Directory=nearfield\n", "Directory=nearfield-%i\n");
  expected = replaced(expected, "/var/cache/nearfield", "/var/cache/nearfield-%i");
  expected = replaced(expected, "/cuda\n", "/cuda\nEnvironment=NEARFIELD_RUNTIME_DIR=/run/nearfield-%i\n");
  EXPECT_EQ(settings_of(read_file(kTemplate)), settings_of(expected));
}

TEST(Units, SystemdTakesThem) {
  const test::TemporaryFolder folder;
  for (const char* name : {"nearfieldd.service", "nearfieldd@left.service"}) {
    const std::string dots = std::string(name) + ".d";
    const std::string unit = std::string(name).find('@') == std::string::npos ? kUnit : kTemplate;
    std::filesystem::create_directories(folder / dots);
    for (const char* device : {"pocl", "nvidia", "amd", "camera"}) {
      std::filesystem::copy_file(kFolder + "devices/" + device + ".conf", folder / (dots + "/" + device + ".conf"));
    }
    std::ofstream(folder / name) << replaced(read_file(unit), "/usr/bin/nearfieldd", "/bin/true");
    const std::string command = "systemd-analyze verify --man=no --recursive-errors=no " + (folder / name) + " > " +
                                (folder / "said") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(read_file(folder / "said"), "") << name;
  }
}

TEST(Units, TheBridgesUnitIsTakenAndExposesLittle) {
  const std::string unit = read_file(kFolder + "nearfield-bridge@.service");
  EXPECT_EQ(judge(unit, 15), 0);
  EXPECT_THAT(unit, testing::HasSubstr("\nDynamicUser=yes\n"));
  EXPECT_THAT(unit, testing::HasSubstr("\nEnvironment=NEARFIELD_RUNTIME_DIR=/run/nearfield-%i\n"));
  EXPECT_THAT(unit, testing::HasSubstr("\n#LoadCredential=redis.password:"));
  const test::TemporaryFolder folder;
  const std::string path = folder / "nearfield-bridge@left.service";
  std::ofstream(path) << replaced(replaced(unit, "/usr/bin/python3 ", "/bin/true "), "\n#LoadCredential",
                                  "\nLoadCredential");
  const std::string said = folder / "said";
  const std::string command = "systemd-analyze verify --man=no --recursive-errors=no " + path + " > " + said + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(said), "");
}

TEST(Units, TheJudgeCanSayNo) {
  EXPECT_EQ(judge(unit_text(true), 1), 1);
  EXPECT_EQ(judge("[Service]\nExecStart=/usr/bin/nearfieldd\n", 20), 1) << "a unit without any hardening";
}

TEST(Units, HaveTheFoldersThatTheDefaultsName) {
  const std::string unit = unit_text(false);
  const DaemonSettings daemon;
  EXPECT_EQ(daemon.control.socket, kAutoSocket);
  EXPECT_EQ(daemon.publish.ring.socket, kAutoSocket);
  EXPECT_STREQ(NF_SYSTEM_FOLDER, "/run/nearfield") << "where a service lies, which has no XDG_RUNTIME_DIR";
  EXPECT_EQ(daemon.recording.directory, "/var/lib/nearfield");
  for (const char* line : {"\nType=notify\n", "\nRestart=always\n", "\nRuntimeDirectory=nearfield\n",
                           "\nStateDirectory=nearfield\n", "\nCacheDirectory=nearfield\n", "\nDynamicUser=yes\n"}) {
    EXPECT_THAT(unit, testing::HasSubstr(line));
  }
}

/// The shell lines of `key` in a unit's text, as systemd hands them to sh, one after another.
std::vector<std::string> shell_lines(const std::string& unit, const std::string& key) {
  std::vector<std::string> lines;
  const std::string begin = "\n" + key + "=/bin/sh -c '";
  for (std::size_t at = unit.find(begin); at != std::string::npos; at = unit.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    std::string line = unit.substr(from, unit.find("'\n", from) - from);
    for (std::size_t dollar = line.find("$$"); dollar != std::string::npos; dollar = line.find("$$", dollar)) {
      line.erase(dollar, 1);
    }
    lines.push_back(line);
  }
  return lines;
}

/// What became of one life of the service after its start.
struct Life {
  bool cache_survives = false;
  bool waits = false;  ///< before it is started again
};

/// Runs what systemd runs, with a `sleep` that only leaves a mark.
Life live(bool was_ready, const std::string& result, const std::string& exit_status) {
  const test::TemporaryFolder folder;
  const std::string kernel = folder / "cache/pocl/tempfile.so";
  for (const char* name : {"cache/pocl", "run", "bin"}) {
    std::filesystem::create_directories(folder / name);
  }
  std::ofstream(kernel) << "damaged";
  std::ofstream(folder / "bin/sleep") << "#!/bin/sh\ntouch " + (folder / "slept") + "\n";
  std::filesystem::permissions(folder / "bin/sleep", std::filesystem::perms::owner_all);
  const auto run = [&](const std::string& key) {
    const std::vector<std::string> lines = shell_lines(unit_text(true), key);
    EXPECT_FALSE(lines.empty()) << key;
    for (const std::string& line : lines) {
      std::ofstream(folder / "line.sh") << line;
      const std::string command = "PATH=" + (folder / "bin") + ":$PATH CACHE_DIRECTORY=" + (folder / "cache") +
                                  " RUNTIME_DIRECTORY=" + (folder / "run") + " SERVICE_RESULT=" + result +
                                  " EXIT_STATUS=" + exit_status + " sh " + (folder / "line.sh");
      EXPECT_EQ(std::system(command.c_str()), 0) << line;
    }
  };
  if (was_ready) {
    run("ExecStartPost");
  }
  run("ExecStopPost");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "run")) << "the next start is not ready yet";
  return {.cache_survives = std::filesystem::exists(kernel), .waits = std::filesystem::exists(folder / "slept")};
}

TEST(Units, ADamagedCacheBlocksOneStartOnly) {
  for (const bool was_ready : {false, true}) {
    SCOPED_TRACE(was_ready ? "ready" : "starting");
    EXPECT_EQ(live(was_ready, "signal", "SEGV").cache_survives, was_ready);
    EXPECT_EQ(live(was_ready, "core-dump", "BUS").cache_survives, was_ready);
    EXPECT_EQ(live(was_ready, "timeout", "TERM").cache_survives, was_ready);
    for (const char* of_the_cache : {"1", "69", "70", "75", "255"}) {
      EXPECT_EQ(live(was_ready, "exit-code", of_the_cache).cache_survives, was_ready) << of_the_cache;
    }
    for (const char* harmless : {"64", "66", "74", "78"}) {
      EXPECT_TRUE(live(was_ready, "exit-code", harmless).cache_survives) << harmless;
    }
    EXPECT_TRUE(live(was_ready, "success", "0").cache_survives);
  }
}

// RestartSec is 100 ms: without the pause the daemon would try a port of another program ten times a second.
TEST(Units, AFailedStartWaitsBeforeTheNext) {
  for (const char* code : {"66", "69", "74"}) {
    EXPECT_TRUE(live(false, "exit-code", code).waits) << code;
    EXPECT_FALSE(live(true, "exit-code", code).waits) << code;
  }
  EXPECT_FALSE(live(false, "success", "0").waits) << "stopped while it started";
  EXPECT_THAT(unit_text(false), testing::HasSubstr("\nRestartPreventExitStatus=64 78\n"));
}

}  // namespace
}  // namespace nearfield::control
