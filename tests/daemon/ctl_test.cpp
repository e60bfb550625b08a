#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/nearfieldd_process.hpp"

// `nearfield ctl` against a running nearfieldd, as one types it.
namespace nearfield {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class CtlTest : public test::NearfielddTest {
 protected:
  [[nodiscard]] test::CommandResult ctl(const std::string& arguments) const {
    return test::run_nearfield("ctl --socket " + (folder_ / "control.sock") + " " + arguments);
  }
  /// What must work, and its words.
  [[nodiscard]] std::string done(const std::string& arguments) const {
    const test::CommandResult result = ctl(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments << ": " << result.output;
    return result.output;
  }
  [[nodiscard]] json status() const { return json::parse(done("status --json")); }
};

TEST_F(CtlTest, StatusSaysWhatRuns) {
  start_live();
  const json now = status();
  EXPECT_EQ(now.at("state"), "running");
  EXPECT_EQ(now.at("epoch"), 1);
  EXPECT_GT(now.at("frames"), 0);
  const json& bits = now.at("bit_times");
  EXPECT_EQ(bits.at("received").get<std::uint64_t>() + bits.at("missing").get<std::uint64_t>(),
            bits.at("expected").get<std::uint64_t>());
  const std::string text = done("status");
  EXPECT_THAT(text, HasSubstr("nearfieldd"));
  EXPECT_THAT(text, HasSubstr("running, version"));
  EXPECT_THAT(text, HasSubstr("popcount"));
  EXPECT_THAT(text, HasSubstr("configuration epoch 1"));
}

// ctl is there before the daemon: without --wait it would have ended with 66.
TEST_F(CtlTest, WaitsForADaemonThatIsStillStarting) {
  auto waiting = std::async(std::launch::async, [this] { return ctl("--wait 120 status --json"); });
  start("--set daemon.source.loop=true");
  const test::CommandResult result = waiting.get();
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\"version\""));
  EXPECT_EQ(ctl("--wait stop").exit_code, 0) << "60 s where no number is given, and the next word is the command";
  EXPECT_EQ(wait(), 0) << log();
  EXPECT_EQ(ctl("--wait 0.1 status").exit_code, 66);
}

TEST_F(CtlTest, SetAndReloadBeginEpochsOrAreRefused) {
  start_live();
  EXPECT_EQ(done("set medium.sound_speed_m_s=341 front_end.frequencies_hz='[2929.6875]'"), "epoch 2 is in effect\n");
  EXPECT_EQ(status().at("epoch"), 2);
  const test::CommandResult unknown = ctl("set holography.standoff=0.05");
  EXPECT_EQ(unknown.exit_code, 78);
  EXPECT_THAT(unknown.output, HasSubstr("did you mean holography.standoff_m?"));
  const test::CommandResult fixed = ctl("set array.rows=16");
  EXPECT_EQ(fixed.exit_code, 78);
  EXPECT_THAT(fixed.output, HasSubstr("array.rows: expected no change while the daemon runs"));
  const test::CommandResult too_long = ctl("set front_end.window_samples=8192");
  EXPECT_EQ(too_long.exit_code, 78);
  EXPECT_THAT(too_long.output, HasSubstr("a quarter of the ring"));
  EXPECT_EQ(ctl("set").exit_code, 64);
  EXPECT_EQ(status().at("epoch"), 2);
  write_configuration("-1");
  const test::CommandResult bad_file = ctl("reload");
  EXPECT_EQ(bad_file.exit_code, 78);
  EXPECT_THAT(bad_file.output, HasSubstr("nearfieldd.yaml:4:27: medium.sound_speed_m_s"));
  write_configuration("340");
  EXPECT_EQ(done("reload"), "epoch 3 is in effect\n");
  const json frames = status().at("frames");
  wait_until([&] { return status().at("frames") > frames; });
}

// What is printed is a whole configuration: nearfieldd takes it, and it holds what was set.
TEST_F(CtlTest, ConfigPrintsWhatIsInEffect) {
  start_live();
  (void)done("set medium.sound_speed_m_s=341");
  const std::string yaml = done("config");
  EXPECT_THAT(yaml, HasSubstr("\n  sound_speed_m_s: 341\n"));
  EXPECT_EQ(json::parse(done("config --json")).at("yaml"), yaml);
  (void)done("stop");
  EXPECT_EQ(wait(), 0) << log();
  std::ofstream(folder_ / "nearfieldd.yaml") << yaml;
  start("--check");
  EXPECT_EQ(wait(), 0) << log();
}

TEST_F(CtlTest, RecordStartsAndStops) {
  start_live();
  EXPECT_EQ(ctl("record").exit_code, 64);
  EXPECT_EQ(ctl("record trigger").exit_code == 0, false) << "nothing is armed";
  (void)done("record start --images --name take");
  EXPECT_NE(ctl("record start").exit_code, 0) << "one at a time";
  wait_until([this] { return status().at("recording").at("bytes") > 100'000; });
  EXPECT_THAT(done("status"), HasSubstr("take.nfr"));
  const json ended = json::parse(done("--json record stop"));
  EXPECT_EQ(ended.at("state"), "ended") << ended;
  const test::CommandResult about = test::run_nearfield("inspect " + (folder_ / "take.nfr"));
  EXPECT_EQ(about.exit_code, 0) << about.output;
  EXPECT_THAT(about.output, HasSubstr("stopped"));
  (void)done("record start --bits --seconds 0.05 --name short");
  wait_until([this] { return status().at("recording").at("state") != "recording"; });
  EXPECT_GT(std::filesystem::file_size(folder_ / "short.nfr"), 0U);
}

TEST_F(CtlTest, StopEndsTheDaemonAndThenNobodyAnswers) {
  start_live();
  EXPECT_EQ(done("stop"), "stopping\n");
  EXPECT_EQ(wait(), 0) << log();
  const test::CommandResult nobody = ctl("status");
  EXPECT_EQ(nobody.exit_code, 66);
  EXPECT_THAT(nobody.output, HasSubstr("control.sock"));
}

// Newest first: the one under way, then the one that has ended.
TEST_F(CtlTest, RecordingsAreListedWithTheirNotes) {
  start_live("--set daemon.recording.what=bits");
  EXPECT_THAT(done("recordings"), HasSubstr("no recording in "));
  (void)done("record start --name first --notes 'pump 3, after the repair'");
  wait_until([this] { return status().at("recording").at("bytes") > 100'000; });
  (void)done("record stop");
  (void)done("record start --name second");
  wait_until([this] { return status().at("recording").at("bytes") > 100'000; });
  const json list = json::parse(done("recordings --json")).at("recordings");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list.at(0).at("name"), "second.nfr");
  EXPECT_EQ(list.at(0).at("state"), "recording");
  EXPECT_EQ(list.at(0).at("seconds"), nullptr);
  EXPECT_EQ(list.at(1).at("path"), folder_ / "first.nfr");
  EXPECT_EQ(list.at(1).at("state"), "complete");
  EXPECT_EQ(list.at(1).at("notes"), "pump 3, after the repair");
  EXPECT_GT(list.at(1).at("seconds"), 0.0);
  EXPECT_THAT(done("recordings"), HasSubstr("complete    first.nfr  pump 3, after the repair"));
  (void)done("record stop");
  EXPECT_THAT(test::run_nearfield("inspect " + (folder_ / "first.nfr")).output, HasSubstr("pump 3, after the repair"));
  (void)done("stop");
  EXPECT_EQ(wait(), 0) << log();
}

// An arming by the settings ends with them; noise that is there when the level is set begins no recording.
TEST_F(CtlTest, ALevelArmsAndNoLevelDisarms) {
  start_live();
  (void)done("set daemon.recording.trigger=level daemon.recording.level=1e-9");
  const json frames = status().at("frames");
  wait_until([&] { return status().at("frames") > frames; });
  EXPECT_EQ(status().at("recording").at("state"), "armed") << "random bits lie above the level all the time";
  (void)done("set daemon.recording.trigger=none");
  EXPECT_EQ(status().at("recording").at("state"), "idle");
  (void)done("stop");
  EXPECT_EQ(wait(), 0) << log();
}

}  // namespace
}  // namespace nearfield
