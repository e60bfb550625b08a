#include "bench/here/here.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.hpp"

/// `nearfield bench --here`.
namespace nearfield::bench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(HereWait, IsThatOfAQueue) {
  EXPECT_DOUBLE_EQ(longest_wait_s({0.5, 0.5, 0.5}, 1.0), 0.5);
  EXPECT_DOUBLE_EQ(longest_wait_s({3.0, 0.5, 0.5, 0.5}, 1.0), 3.0);  // 2 behind, then 1.5, 1, each with its own frame
  EXPECT_DOUBLE_EQ(longest_wait_s({1.5, 1.5, 1.5, 1.5}, 1.0), 3.0);  // falls behind by half a period each time
  EXPECT_DOUBLE_EQ(longest_wait_s({}, 1.0), 0.0);
}

TEST(HereVerdict, NamesTheChangesThatHold) {
  HereReport report{.name = "lab.yaml",
                    .runs = {{.period_s = 1e-3, .mean_s = 2e-3, .waited_s = 1.0, .allowed_s = 0.05}}};
  EXPECT_FALSE(report.holds());
  EXPECT_THAT(report.verdict(), HasSubstr("none of the single changes"));
  report.runs.push_back({.changes = {"front_end.hop_samples=128"},
                         .period_s = 4e-3,
                         .mean_s = 2e-3,
                         .waited_s = 3e-3,
                         .allowed_s = 0.05});
  EXPECT_THAT(report.verdict(), HasSubstr("it holds it with --set front_end.hop_samples=128"));
  report.runs.front() = report.runs.back();
  EXPECT_THAT(report.verdict(), HasSubstr("this machine holds it: 250 frames a second take 50 % of the time"));
}

TEST(HereChanges, AreOfTheSettings) {
  const std::vector<std::vector<std::string>> changes =
      lighter_changes("", {"front_end.frequencies_hz=[500, 1000, 1500]", "holography.upsample=2"});
  EXPECT_THAT(changes, Contains(ElementsAre("front_end.hop_samples=64")));
  EXPECT_THAT(changes, Contains(ElementsAre("front_end.frequencies_hz=[500, 1000]")));
  EXPECT_THAT(changes, Contains(ElementsAre("holography.upsample=1")));
  EXPECT_THAT(lighter_changes("", {"front_end.frequencies_hz=[1464.84375, 2000]"}),
              Contains(ElementsAre("front_end.frequencies_hz=[1464.84375]")));  // all digits
  EXPECT_THAT(changes, Contains(ElementsAre("front_end.kind=dot_product")));
}

constexpr const char* kSmallArray =
    " --set array.rows=8 --set array.columns=8 --set array.layout=row-major --set array.pitch_x_m=0.02"
    " --set array.pitch_y_m=0.02 --set holography.standoff_m=0.03 --set daemon.overload.shed_hops_ms=500"
    " --set daemon.overload.pause_recordings_ms=1000";

/// What the figures of a run say, whatever the machine's speed beside other tests.
void expect_consistent(const nlohmann::json& run) {
  if (run.at("load").is_null()) {
    EXPECT_NE(run.at("problem"), "");
    EXPECT_EQ(run.at("holds"), false);
    return;
  }
  const auto figure = [&run](const char* name) { return run.at(name).get<double>(); };
  EXPECT_EQ(run.at("problem"), "");
  EXPECT_GE(run.at("frames"), 20);
  EXPECT_DOUBLE_EQ(figure("load"), figure("mean_s") / figure("period_s"));
  EXPECT_EQ(run.at("holds"), figure("load") <= HereRun::kMostLoad && figure("waited_s") <= figure("allowed_s"));
  EXPECT_GT(figure("cores"), 0.0);
  EXPECT_GT(figure("p50_s"), 0.0);
  EXPECT_GE(figure("p99_s"), figure("p50_s"));
  EXPECT_GE(figure("longest_s"), figure("p99_s"));
  EXPECT_GE(figure("waited_s"), figure("longest_s"));
}

// 46 frames a second of 64 microphones; each frame may take 22 ms.
TEST(Here, ASmallArrayIsMeasured) {
  const test::CommandResult result = test::run_nearfield(
      "bench --here --json --seconds 240 --set front_end.hop_samples=1024 --set front_end.frequencies_hz=[1007.08]" +
          std::string(kSmallArray),
      "2>/dev/null");
  const nlohmann::json report = nlohmann::json::parse(result.output);
  const nlohmann::json& own = report.at("runs").at(0);
  ASSERT_EQ(own.at("problem"), "") << result.output;
  for (const nlohmann::json& run : report.at("runs")) {
    expect_consistent(run);
  }
  EXPECT_EQ(report.at("holds"), own.at("holds"));
  EXPECT_LE(report.at("seconds").get<double>(), 240.0);
  EXPECT_EQ(result.exit_code, report.at("holds").get<bool>() ? 0 : 1);
  EXPECT_THAT(report.at("verdict").get<std::string>(),
              HasSubstr(report.at("holds").get<bool>() ? "this machine holds it" : "this machine does not hold it"));
}

// A frame a sample, 46,875 a second: a launch alone takes longer on any device. The time is for compiling; the frames
// and the changes are measured for a few seconds of it.
TEST(Here, WhatNoMachineHoldsIsNotHeldAndChangesAreTried) {
  const test::CommandResult result = test::run_nearfield(
      "bench --seconds 30 --here --json --set front_end.hop_samples=1" + std::string(kSmallArray), "2>/dev/null");
  const nlohmann::json report = nlohmann::json::parse(result.output);
  EXPECT_LE(report.at("seconds").get<double>(), 30.0);
  for (const nlohmann::json& run : report.at("runs")) {
    expect_consistent(run);
  }
  const nlohmann::json& own = report.at("runs").at(0);
  EXPECT_EQ(own.at("holds"), false);
  if (own.at("load").is_null()) {  // its programs took longer to compile than there is time
    EXPECT_EQ(result.exit_code, 75) << result.output;
    EXPECT_THAT(report.at("verdict").get<std::string>(), HasSubstr("is not known"));
    EXPECT_TRUE(report.at("holds").is_null());
    return;
  }
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(report.at("verdict").get<std::string>(),
              HasSubstr("this machine does not hold it: 46875 frames a second take"));
}

TEST(Here, WhatIsNotMeasuredHasAnExitCodeOfItsOwn) {
  const test::CommandResult none = test::run_nearfield("bench here --device nowhere --json", "2>/dev/null");
  EXPECT_EQ(none.exit_code, 75) << none.output;
  const nlohmann::json report = nlohmann::json::parse(none.output);
  EXPECT_TRUE(report.at("holds").is_null());
  EXPECT_THAT(report.at("verdict").get<std::string>(), HasSubstr("is not known"));
  EXPECT_THAT(report.at("runs").at(0).at("problem").get<std::string>(), HasSubstr("nowhere"));
}

// A wrong configuration is not one that is not known.
TEST(Here, ReadsStandardInput) {
  const test::CommandResult wrong = test::run_nearfield("bench here -c -", "printf 'holography: {standoff: 1}' |");
  EXPECT_EQ(wrong.exit_code, 78) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("standard input:1:14: holography.standoff: unknown key"));
}

}  // namespace
}  // namespace nearfield::bench
