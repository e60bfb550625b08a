#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/nearfieldd_process.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"

/// Recordings of a daemon, as who asked for them meets them.
namespace nearfield {
namespace {

using nlohmann::json;
using test::NearfielddTest;
using testing::HasSubstr;

class RecordingTest : public NearfielddTest {
 protected:
  json recording() const { return ask({{"command", "status"}}).at("recording"); }
  void start_recording(const std::string& name) const {
    ask({{"command", "record"}, {"action", "start"}, {"name", name}});
  }
  void record(const std::string& name, int bytes) const {
    start_recording(name);
    wait_until([&] { return recording().at("bytes") > bytes; });
    ask({{"command", "record"}, {"action", "stop"}});
  }
  /// The status's account, term by term, must be the file's, and add up to the span.
  json account(const std::string& path) const {
    json bits = recording().at("bit_times");
    const nfr::Reader reader{std::filesystem::path(path)};
    const nfr::BitsSummary& file = reader.summary().bits;
    EXPECT_EQ(bits.at("span"), file.expected());
    EXPECT_EQ(bits.at("stored"), file.received);
    EXPECT_EQ(bits.at("never_sent"), file.not_sent);
    EXPECT_EQ(bits.at("paused"), file.paused);
    EXPECT_EQ(bits.at("overrun"), file.overrun);
    EXPECT_EQ(bits.at("dropped"), file.dropped);
    EXPECT_EQ(file.sum(), file.expected());
    return bits;
  }
  test::CommandResult replay(const std::string& more) const {
    return test::run_nearfield("replay " + (folder_ / "take.nfr") + " -o " + (folder_ / "images.h5") + " " + more);
  }
};

// A replay without settings makes the images of the daemon, not those of the defaults.
TEST_F(RecordingTest, IsReplayedWithTheSettingsThatItCarries) {
  start_live("--set daemon.recording.what=bits");
  record("take", 1'000'000);
  EXPECT_EQ(stop(), 0);
  test::CommandResult result = replay("");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("settings: those that " + (folder_ / "take.nfr") + " carries, of epoch 1"));
  {
    const ImagesReader images(folder_ / "images.h5");
    EXPECT_EQ(images.header().frequencies_hz, std::vector<double>{1464.84375});
    EXPECT_EQ(images.read(1).first_sample - images.read(0).first_sample, 64U * 32U);
  }
  result = replay("--set medium.sound_speed_m_s=350");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(ImagesReader(folder_ / "images.h5").header().config,
              testing::AllOf(HasSubstr("sound_speed_m_s: 350"), HasSubstr("1464.84375")));
  std::ofstream(folder_ / "other.yaml") << "front_end: {frequencies_hz: [2929.6875]}\nholography: {extrapolation: "
                                           "{order: 4}}\n";
  result = replay("-c " + (folder_ / "other.yaml"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("settings: those of " + (folder_ / "other.yaml")));
  EXPECT_EQ(ImagesReader(folder_ / "images.h5").header().frequencies_hz, std::vector<double>{2929.6875});
}

// Frames fall behind (a hop is 1.4 ms, a frame takes 3 ms more): hops are shed, and their bits are recorded.
TEST_F(RecordingTest, HasTheBitsOfHopsThatAreShed) {
  start(
      "--set daemon.source.loop=true --set daemon.overload.pause_dashboards_ms=4 --set daemon.overload.shed_hops_ms=12 "
      "--set daemon.overload.pause_recordings_ms=600000",
      "NEARFIELDD_FAULT=slow:1:100000:3000");
  wait_until([this] { return ask({{"command", "status"}}).at("shed_hops") > 0; });
  record("take", 1'000'000);
  const json bits = account(folder_ / "take.nfr");
  EXPECT_EQ(bits.at("paused"), 0);
  EXPECT_EQ(bits.at("never_sent"), 0);
  EXPECT_GT(bits.at("stored"), 0);
  EXPECT_EQ(stop(), 0);
}

// Where the settings give recordings up first, the gaps are the daemon's and not the source's.
TEST_F(RecordingTest, SaysThatTheDaemonPausedIt) {
  start(
      "--set daemon.source.loop=true --set daemon.overload.pause_dashboards_ms=1 --set daemon.overload.shed_hops_ms=12 "
      "--set daemon.overload.pause_recordings_ms=2",
      "NEARFIELDD_FAULT=slow:1:100000:3000");
  wait_until([this] { return ask({{"command", "status"}}).at("shed_hops") > 0; });
  start_recording("take");
  wait_until([this] { return recording().at("bit_times").at("paused") > 100'000; });
  ask({{"command", "record"}, {"action", "stop"}});
  const json bits = account(folder_ / "take.nfr");
  EXPECT_EQ(bits.at("never_sent"), 0);
  EXPECT_GT(bits.at("paused"), 100'000);
  EXPECT_EQ(stop(), 0);
}

// What ends a recording, or keeps it from beginning, is in the log; frames go on.
TEST_F(RecordingTest, ADiskThatIsFullIsInTheLog) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  const bool is_small = mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1500k") == 0;  // root alone may
  start_live("--set daemon.recording.directory=" + disk + (is_small ? "" : "/missing"));
  try {
    start_recording("take");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("record: "));  // it failed before the reply
  }
  wait_until([this] { return recording().at("state") == "failed"; });
  wait_until([this] { return log().find("cause=recording_failed") != std::string::npos; });
  EXPECT_THAT(log(), HasSubstr(is_small ? "disk full (" : "the file could not be created ("));
  EXPECT_THAT(log(), HasSubstr("error"));
  const json frames = ask({{"command", "status"}}).at("frames");
  wait_until([&] { return ask({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(stop(), 0);
  if (is_small) {
    EXPECT_EQ(umount(disk.c_str()), 0);
  }
}

TEST_F(RecordingTest, AQuotaThatIsReachedIsInStatusLogAndReply) {
  std::ofstream(folder_ / "old.nfr") << std::string(2'000'000, 'x');
  start_live("--set daemon.recording.quota_bytes=2500000");
  try {
    start_recording("take");
    ADD_FAILURE() << "began";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("2000000 bytes, of 2500000 permitted"));
  }
  EXPECT_THAT(recording().at("text").get<std::string>(), HasSubstr("quota_bytes"));
  wait_until([this] { return log().find("no recording begins: quota_bytes") != std::string::npos; });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "take.nfr"));
  EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace nearfield
