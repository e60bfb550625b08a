#include "bench/imager/imager.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace nearfield::bench {
namespace {

ImagerBenchOptions tiny() {
  ImagerBenchOptions options;
  options.settings.array.geometry = {.rows = 8, .columns = 8};
  options.counts = {1, 2};
  options.batch = 2;
  options.timing = {.warm_up = 1, .repetitions = 5};
  return options;
}

TEST(BenchImager, MeasuresEveryPathOnTheSameSpectra) {
  const ImagerReport report = bench_imager(tiny());
  ASSERT_EQ(report.runs.size(), 10U);
  for (const ImagerRun& run : report.runs) {
    ASSERT_TRUE(run.measured) << run.path << ": " << run.description;
    EXPECT_GT(run.timing.wall_s.median, 0.0);
    EXPECT_GE(run.timing.stages.size(), 2U);
    EXPECT_LE(run.difference, run.path.starts_with("sonah") ? 1.0 : 1e-4);  // another method's images
    // Both start from zero padding's or the predictors' spectra: equal images would mean one path measured twice.
    EXPECT_EQ(run.path == "clfft", run.difference == 0.0) << run.path;
  }
  EXPECT_EQ(report.runs[0].path, "clfft");
  EXPECT_EQ(report.runs[1].path, "sonah");
  EXPECT_EQ(report.runs[2].path, "sonah_waves");
  EXPECT_EQ(report.runs[3].path, "sonah_no_search");
  EXPECT_EQ(report.runs[4].path, "fused");
  EXPECT_LT(report.runs[4].timing.stages.size(), report.runs[0].timing.stages.size());
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json.at("runs").size(), 10U);
  EXPECT_EQ(json.at("batch"), 2);
  EXPECT_GT(json.at("runs")[1].at("stages")[0].at("device_s").at("median").get<double>(), 0.0);
  EXPECT_NE(to_table(report).find("imaging/fused/columns"), std::string::npos);
}

TEST(BenchImager, SaysWhyAPathIsMissing) {
  ImagerBenchOptions options = tiny();
  options.settings.holography.extrapolation.method = Extrapolation::kLpbp;
  options.counts = {1};
  const ImagerReport report = bench_imager(options);
  ASSERT_EQ(report.runs.size(), 2U);
  EXPECT_FALSE(report.runs[1].measured);
  EXPECT_NE(to_table(report).find("cannot do lpbp"), std::string::npos);
}

TEST(BenchImager, TriesDistinctCuts) {
  ImagePlan plan;
  plan.frequencies_hz = {1000.0};
  plan.cutoff_rad_per_m = {90.0};
  for (const bool is_gpu : {false, true}) {
    ocl::DeviceInfo device;
    device.is_gpu = is_gpu;
    device.local_memory_bytes = 49152;
    const auto tunings = tunings_to_try(device, plan);
    EXPECT_GE(tunings.size(), 5U);
    for (const FusedTuning& tuning : tunings) {
      EXPECT_EQ(is_gpu, tuning.fit_group > 1);
    }
  }
}

}  // namespace
}  // namespace nearfield::bench
