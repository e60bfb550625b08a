#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/nearfieldd_process.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_reader.hpp"
#include "support/images.hpp"

/// Recordings of a daemon, as their user sees them.
namespace nearfield {
namespace {

using nlohmann::json;
using test::NearfielddTest;
using testing::HasSubstr;

class RecordingTest : public NearfielddTest {
 protected:
  json recording() const { return call({{"command", "status"}}).at("recording"); }
  void start_recording(const std::string& name) const {
    call({{"command", "record"}, {"action", "start"}, {"name", name}});
  }
  void record(const std::string& name, int bytes) const {
    start_recording(name);
    wait_until([&] { return recording().at("bytes") > bytes; });
    call({{"command", "record"}, {"action", "stop"}});
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

// A second look at what the ring holds, with other settings, while the daemon goes on: its bits are the file's, bit for
// bit, no hop is lost, and a recording under way has none of it.
TEST_F(RecordingTest, TheRingIsFrozenWhileFramesGoOn) {
  start_live("--set daemon.source.ring_bit_times=524288 --set daemon.recording.what=bits");
  start_recording("take");
  wait_until([this] { return call({{"command", "status"}}).at("frames") > 300; });
  const std::string control = "ctl --socket " + (folder_ / "control.sock");
  const test::CommandResult named = test::run_nearfield(control + " freeze --name second");
  ASSERT_EQ(named.exit_code, 0) << named.output;
  EXPECT_THAT(named.output, HasSubstr("second.nfr: "));
  const test::CommandResult moved = test::run_nearfield(control + " freeze -o " + (folder_ / "looked/at.nfr"));
  EXPECT_EQ(moved.exit_code, 74) << "no such folder: " << moved.output;
  std::filesystem::create_directory(folder_ / "looked");
  EXPECT_EQ(test::run_nearfield(control + " freeze -o " + (folder_ / "looked/at.nfr")).exit_code, 0);
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(recording().at("state"), "recording");
  call({{"command", "record"}, {"action", "stop"}});
  EXPECT_EQ(stop(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "looked/at.nfr"));

  // Of the stream nothing was lost, whatever hops a busy machine sheds: the ring holds 0.35 s.
  nfr::Reader whole{std::filesystem::path(folder_ / "take.nfr")};
  EXPECT_EQ(whole.summary().bits.received, whole.summary().bits.expected());
  nfr::Reader frozen{std::filesystem::path(folder_ / "second.nfr")};
  const nfr::BitsSummary& bits = frozen.summary().bits;
  EXPECT_GT(bits.received, 262'144U) << "of a ring of 524288 bit-times";
  EXPECT_LE(bits.received, 524'288U - 524'288U / 16U) << "without the oldest sixteenth";
  EXPECT_EQ(bits.received, bits.expected());
  // The recording that was under way has the same bits.
  const std::uint64_t first = std::max(bits.first_bit_time, whole.summary().bits.first_bit_time);
  const auto bits_of = [&](nfr::Reader& reader) {
    std::vector<std::uint32_t> words((bits.end_bit_time - first) * reader.words_per_bit_time());
    std::vector<MissingRun> missing;
    reader.read_bits(first, words, missing);
    EXPECT_TRUE(missing.empty());
    return words;
  };
  ASSERT_LT(first, bits.end_bit_time);
  EXPECT_EQ(bits_of(frozen), bits_of(whole));
  // A second look, with other settings than those that it carries.
  const test::CommandResult result =
      test::run_nearfield("replay " + (folder_ / "second.nfr") + " -o " + (folder_ / "images.h5") +
                          " --set front_end.frequencies_hz=[2929.6875] --frames 2");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ImagesReader(folder_ / "images.h5").header().frequencies_hz, std::vector<double>{2929.6875});
}

TEST_F(RecordingTest, AFreezeIsRefusedWhereNothingCanBeRecorded) {
  start_live("--set daemon.recording.directory=");
  const std::string control = "ctl --socket " + (folder_ / "control.sock");
  const test::CommandResult result = test::run_nearfield(control + " freeze");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.output, HasSubstr("daemon.recording.directory: expected a folder, found none"));
  EXPECT_EQ(test::run_nearfield(control + " freeze --name ../x").exit_code, 64);
  EXPECT_EQ(test::run_nearfield(control + " freeze --name x -o y.nfr").exit_code, 64);
  EXPECT_EQ(stop(), 0);
}

// Frames fall behind (a hop is 1.4 ms, a frame takes 3 ms more): hops are shed, and their bits are recorded.
TEST_F(RecordingTest, HasTheBitsOfHopsThatAreShed) {
  start(
      "--set daemon.source.loop=true --set daemon.overload.pause_dashboards_ms=4 --set daemon.overload.shed_hops_ms=12 "
      "--set daemon.overload.pause_recordings_ms=600000",
      "NEARFIELDD_FAULT=slow:1:100000:3000");
  wait_until([this] { return call({{"command", "status"}}).at("shed_hops") > 0; });
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
  wait_until([this] { return call({{"command", "status"}}).at("shed_hops") > 0; });
  start_recording("take");
  wait_until([this] { return recording().at("bit_times").at("paused") > 100'000; });
  call({{"command", "record"}, {"action", "stop"}});
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
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
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
