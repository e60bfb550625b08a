#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "core/daemon_settings.hpp"
#include "daemon/nearfieldd_process.hpp"

// Defaults that meet: programs that are started without any option find each other, and pages name the same places.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The output of a shell script whose programs have /run and the network's ports for themselves: in
/// namespaces of their own, as root or as any user. Where a machine permits neither, only the folder of sockets is
/// theirs.
test::CommandResult run_alone(const std::string& script, const test::TemporaryFolder& folder) {
  std::string unshare = "unshare --mount --net";
  std::string world = "mount -t tmpfs tmpfs /run && ip link set lo up || exit 99\n";
  if (test::run_nearfield("--version", unshare).exit_code != 0) {
    unshare = "unshare --map-root-user --mount --net";
  }
  if (test::run_nearfield("--version", unshare).exit_code != 0) {
    unshare.clear();
    world = "export NEARFIELD_RUNTIME_DIR=" + folder.path() + "\n";
  }
  std::ofstream(folder / "script.sh") << "cd " + folder.path() + "\n" + world + script;
  const std::string programs = std::filesystem::path(NEARFIELD_BINARY).parent_path().string();
  return test::run_nearfield("", unshare + " env PATH=" + programs + ":$PATH SOURCE=" + NEARFIELD_SOURCE_DIR + " sh " +
                                     (folder / "script.sh") + "; :");
}

/// The daemon named in $DAEMON is started, its clients wait for it, and 0.2 s of a scene are sent once the reader is
/// connected.
constexpr const char* kMeet = R"(
$DAEMON 2>daemon.log & daemon=$!
nearfield tap --wait 300 --count 10 >tap.log 2>&1 & tap=$!
nearfield ctl --wait 300 status >ctl.log 2>&1 || echo "ctl: $?"
i=0; while [ $i -lt 600 ] && ! grep -q planes tap.log; do sleep 0.1; i=$((i + 1)); done
controller >controller.log 2>&1 & controller=$!
nearfield send $SOURCE/config/scenes/monopoles.yaml --loop >send.log 2>&1 & sender=$!
i=0; while [ $i -lt 600 ] && ! grep -q '^frame\|^no action\|^controller' controller.log; do sleep 0.1; i=$((i + 1)); done
kill $controller
wait $tap || echo "tap: $?"
nearfield ctl set medium.sound_speed_m_s=341 || echo "set: $?"
kill -INT $sender; wait $sender || echo "send: $?"
nearfield ctl stop || echo "stop: $?"
wait $daemon || echo "daemon: $?"
tail -n 3 *.log
)";

TEST(Defaults, DaemonAndClientsWithoutOptionsMeet) {
  const test::TemporaryFolder folder;
  const auto result = run_alone("DAEMON=nearfieldd\n" + std::string(kMeet), folder);
  EXPECT_THAT(result.output, HasSubstr("stopping")) << test::file_text(folder / "daemon.log");
  EXPECT_THAT(test::file_text(folder / "tap.log"), HasSubstr("\n10 frames, "));
  EXPECT_THAT(test::file_text(folder / "ctl.log"), HasSubstr("udp 127.0.0.1:7230"));
  EXPECT_THAT(test::file_text(folder / "daemon.log"), HasSubstr("epoch 2 begins: medium.sound_speed_m_s"));
  EXPECT_THAT(test::file_text(folder / "send.log"), HasSubstr("to 127.0.0.1:7230"));
  EXPECT_THAT(test::file_text(folder / "controller.log"),  // it found the ring, whose default is no velocity
              HasSubstr("expected holography.quantity: normal_velocity, found pressure"));
  EXPECT_THAT(test::file_text(folder / "daemon.log"),
              AllOf(HasSubstr("configuration of defaults"), HasSubstr("/frames.sock"), HasSubstr("/control.sock")));
}

TEST(Defaults, AnEmptyConfigurationIsOne) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "empty.yaml") << "";
  std::ofstream(folder / "version.yaml") << "version: 1\n";
  for (const std::string name : {"empty.yaml", "version.yaml"}) {
    const auto result = run_alone("nearfieldd -c " + name + " --check; echo code $?\n", folder);
    EXPECT_THAT(result.output, AllOf(HasSubstr(name + ": no problems"), HasSubstr("code 0"))) << name;
  }
}

/// Every text in `text` that matches.
std::set<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match) {
    found.insert(match->str());
  }
  return found;
}

// A page that names another port or socket sends its reader where nobody listens.
TEST(Defaults, PagesAndExamplesNameThem) {
  const DaemonSettings daemon;
  const std::set<std::string> addresses = {daemon.source.address, daemon.metrics.address, daemon.page.address,
                                           "127.0.0.1:7231"};
  const std::set<std::string> sockets = {"/run/nearfield/frames.sock", "/run/nearfield/control.sock"};
  const std::regex address(R"(127\.0\.0\.1:[0-9]+)");
  const std::regex socket(R"(/(run|tmp)/[A-Za-z0-9_./-]+\.sock)");
  std::vector<std::filesystem::path> pages = {NEARFIELD_SOURCE_DIR "/README.md",
                                              NEARFIELD_SOURCE_DIR "/examples/controller.c",
                                              NEARFIELD_SOURCE_DIR "/include/nearfield_ring.h"};
  for (const char* folder : {"docs", "config"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(NEARFIELD_SOURCE_DIR "/") + folder)) {
      if (entry.is_regular_file()) {
        pages.push_back(entry.path());
      }
    }
  }
  for (const std::filesystem::path& page : pages) {
    const std::string text = test::file_text(page.string());
    EXPECT_FALSE(text.empty()) << page;
    for (const std::string& found : all_matches(text, address)) {
      EXPECT_TRUE(addresses.contains(found)) << page << " names " << found;
    }
    for (const std::string& found : all_matches(text, socket)) {
      EXPECT_TRUE(sockets.contains(found)) << page << " names " << found;
    }
  }
}

}  // namespace
}  // namespace nearfield
