#include "bench/srp_trials/srp_trials.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

/// Few draws of the trials, whose long forms are `nearfield bench srp_trials`. Bounds are those of docs/srp_phat.md,
/// with room for the few draws where that is said.
namespace nearfield::bench {
namespace {

const ocl::Device& trial_device() {
  static ocl::Device device = ocl::Device::open(DeviceSettings());
  return device;
}

// B3: errors of the contract's table times 1.5. The squared error over the variance has mean 1 +- 1/sqrt(draws) where
// that variance holds, and 0.5 to 2 is asked for.
TEST(BenchSrpTrials, FindDirectionsInNoise) {
  const auto all = try_directions(trial_device(), {.draws = 40, .arrays = {"grid 8x8"}, .snrs_db = {10.0, -10.0}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_LE(all[0].median_deg, 1.5 * 0.09);
  EXPECT_LE(all[0].p95_deg, 1.5 * 0.25);
  EXPECT_LE(all[1].median_deg, 1.5 * 0.38);
  EXPECT_LE(all[1].p95_deg, 1.5 * 1.0);
  for (const DirectionFigures& one : all) {
    EXPECT_EQ(one.gross, 0);
    EXPECT_GE(one.squared_error, 0.5) << one.snr_db;
    EXPECT_LE(one.squared_error, 2.0) << one.snr_db;
  }
  EXPECT_NEAR(all[0].confidence, 0.83, 0.03);
}

// All microphones find what a subset of 64 does not.
TEST(BenchSrpTrials, FindASourceTwentyDecibelsBelowNoise) {
  const auto all = try_directions(trial_device(), {.draws = 8, .arrays = {"all", "spiral 64"}, .snrs_db = {-20.0}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].gross, 0);
  EXPECT_LE(all[0].median_deg, 1.5 * 0.25);
  EXPECT_GE(all[1].gross, 4);
}

// B4 on its smallest grid.
TEST(BenchSrpTrials, FindDirectionsBeforeACylinder) {
  const auto all = try_cylinder(trial_device(), {.draws = 12, .pixels = {3888}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].domain, "frequency");
  EXPECT_EQ(all[1].domain, "time");
  for (const CylinderFigures& one : all) {
    EXPECT_EQ(one.within_10_deg, 12);
    EXPECT_EQ(one.within_5_and_3_deg, 12);
  }
}

// B6: of 300 windows 30 have a significance of 1 and more, and a factor of 3 is allowed.
TEST(BenchSrpTrials, CountFalseAlarms) {
  const NoiseFigures noise = try_noise(trial_device(), {.frames = 300});
  EXPECT_GE(noise.false_frames[0], 10);
  EXPECT_LE(noise.false_frames[0], 90);
  EXPECT_LE(noise.false_frames[1], 9);  // 3 are expected
  EXPECT_LT(noise.largest, 6.0);
  EXPECT_EQ(noise.confirmed, 0);
}

// B8: two runs of two seconds.
TEST(BenchSrpTrials, KeepIdsWhereSourcesCross) {
  const CrossingFigures crossing = try_crossing(trial_device(), {.runs = 2});
  EXPECT_EQ(crossing.swapped, 0);
  EXPECT_EQ(crossing.changed, 0);
  EXPECT_EQ(crossing.unseen, 0);
  EXPECT_LE(crossing.rms_deg, 1.0);
}

TEST(BenchSrpTrials, AreReported) {
  const auto times = time_cylinder(trial_device(), {.repetitions = 1, .pixels = {3888}, .microphones = {16}});
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GT(times[0].least_s, 0.0);
  SrpTrialReport report = {.device = trial_device().info()};
  report.times = times;
  report.noise = {{.frames = 1000, .false_frames = {97, 11, 1}, .largest = 3.5}};
  report.directions = {{.array = "spiral 16", .snr_db = -5.0, .draws = 200, .squared_error = 0.8}};
  report.cylinder = {{.pixels = 3888, .domain = "time", .draws = 200, .within_10_deg = 199}};
  report.crossing = {{.runs = 20, .swapped = 1}};
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json.at("noise")[0].at("false_frames")[2], 1);
  EXPECT_EQ(json.at("directions")[0].at("array"), "spiral 16");
  EXPECT_EQ(json.at("cylinder")[0].at("within_10_deg"), 199);
  EXPECT_EQ(json.at("crossing")[0].at("swapped"), 1);
  EXPECT_EQ(json.at("times").size(), 2U);
  const std::string table = to_table(report);
  EXPECT_NE(table.find("3: 1 of 1.0"), std::string::npos);
  EXPECT_NE(table.find("99.50"), std::string::npos);
}

}  // namespace
}  // namespace nearfield::bench
