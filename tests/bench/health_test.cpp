#include "bench/health/health.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nearfield::bench {
namespace {

TEST(BenchHealth, MeasuresDecisionsAndBits) {
  const HealthBenchOptions options{
      .geometry = {.rows = 10, .columns = 12}, .layout = WireLayout::kRowMajor, .counts = {1, 2}, .repetitions = 5};
  const HealthReport report = bench_health(options);
  // For each count: decisions without and with bad microphones, spectra; then bits.
  ASSERT_EQ(report.runs.size(), 7U);
  for (const HealthRun& run : report.runs) {
    EXPECT_GT(run.time_s.minimum, 0.0) << run.what;
    EXPECT_GT(run.share(), 0.0) << run.what;
  }
  EXPECT_EQ(report.runs[0].frequencies, 1);
  EXPECT_EQ(report.runs[0].bad_microphones, 0);
  EXPECT_EQ(report.runs[0].per_second, 4.0);
  EXPECT_EQ(report.runs[0].time_s.count, 5U);
  EXPECT_GT(report.runs[2].bad_microphones, 0);
  EXPECT_LE(report.runs[2].bad_microphones, 6);
  EXPECT_EQ(report.runs[6].per_second, 8.0);
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json.at("runs").size(), 7U);
  EXPECT_EQ(json.at("columns"), 12);
  EXPECT_NE(to_table(report).find("bits of a block (512)"), std::string::npos);
}

}  // namespace
}  // namespace nearfield::bench
