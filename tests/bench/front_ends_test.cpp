#include "bench/front_ends/front_ends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "frontend/front_end.hpp"
#include "support/command.hpp"

namespace nearfield::bench {
namespace {

FrontEndBenchOptions tiny() {
  FrontEndBenchOptions options;
  options.settings.array.geometry = {.rows = 8, .columns = 8};
  options.settings.array.layout = WireLayout::kRowMajor;
  options.settings.front_end.window_samples = 64;
  options.settings.front_end.hop_samples = 8;
  options.counts = {1, 3};
  options.timing = {.warm_up = 1, .repetitions = 5};
  options.with_slow = false;
  options.quick = true;
  return options;
}

TEST(Variants, StandForEveryFrontEndThereIs) {
  std::set<std::string_view> kinds;
  std::set<std::string_view> names;
  for (const Variant& variant : variants()) {
    kinds.insert(variant.kind);
    EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
    EXPECT_EQ(settings_of(variant, {}).kind, variant.kind);
  }
  for (const FrontEndEntry& entry : front_end_table()) {
    EXPECT_TRUE(kinds.contains(entry.kind)) << entry.kind;
  }
  EXPECT_EQ(variants().front().kind, "decimated_fft");
}

TEST(BinFrequencies, AreDistinctBins) {
  for (const int count : {1, 2, 5, 50, 218, 219, 511}) {
    const std::vector<double> frequencies_hz = bin_frequencies(count, 1024, 46875.0);
    ASSERT_EQ(frequencies_hz.size(), static_cast<std::size_t>(count));
    double last = 0.0;
    for (const double frequency_hz : frequencies_hz) {
      EXPECT_GT(frequency_hz, last) << count;
      const double bin = frequency_hz / (46875.0 / 1024);
      EXPECT_NEAR(bin, std::round(bin), 1e-9);
      last = frequency_hz;
    }
    EXPECT_LE(last, count <= 218 ? 10000.0 : 511 * 46875.0 / 1024);
  }
  EXPECT_THROW(bin_frequencies(512, 1024, 46875.0), UsageError);
  EXPECT_THROW(bin_frequencies(0, 1024, 46875.0), UsageError);
}

TEST(FrontEndBench, MeasuresEveryVariantOnce) {
  const FrontEndReport report = bench_front_ends(tiny());
  std::size_t expected = 0;
  for (const Variant& variant : variants()) {
    expected += variant.use == VariantUse::kSlow ? 0 : 2;
  }
  ASSERT_EQ(report.runs.size(), expected);
  const FrontEndRun* nominal = find_run(report, "decimated_fft", 3);
  ASSERT_NE(nominal, nullptr);
  EXPECT_EQ(nominal->timing.wall_s.count, 5U);
  EXPECT_GT(nominal->timing.device_s.minimum, 0.0);
  EXPECT_LE(nominal->timing.device_s.minimum, nominal->timing.device_s.median);
  EXPECT_LE(nominal->timing.device_s.median, nominal->timing.device_s.maximum);
  // Stages of the nominal chain: upload of a hop of 8 words of 64 microphones, and the transform.
  const auto& stages = nominal->timing.stages;
  const auto upload = std::find_if(stages.begin(), stages.end(),
                                   [](const StageTiming& s) { return s.stage == "front_end/bit_ring/write"; });
  ASSERT_NE(upload, stages.end());
  EXPECT_EQ(upload->phase, kBitsPhase);
  EXPECT_EQ(upload->bytes, 8.0 * 64.0 * 4.0);
  const auto fft =
      std::find_if(stages.begin(), stages.end(), [](const StageTiming& s) { return s.stage.ends_with("/clfft"); });
  ASSERT_NE(fft, stages.end());
  EXPECT_EQ(fft->phase, kSpectraPhase);
  const auto& need = nominal->needs[static_cast<std::size_t>(fft - stages.begin())];
  EXPECT_EQ(need.operations, 2.5 * 64.0 * 6.0 * 64.0);
  EXPECT_EQ(report.walsh_counts.size(), 13U);  // 10 kHz of bins of 732 Hz
}

TEST(FrontEndBench, SaysWhyAFrontEndCannotBeMeasured) {
  FrontEndBenchOptions options = tiny();
  options.settings.front_end.window_samples = 65;  // no length for an FFT; reported, not thrown
  options.counts = {1};
  const FrontEndReport report = bench_front_ends(options);
  EXPECT_NE(report.runs.front().problem.find("window_samples"), std::string::npos);
  EXPECT_EQ(find_run(report, "decimated_fft", 1), nullptr);
  EXPECT_TRUE(nlohmann::json::accept(to_json_text(report)));
  EXPECT_NE(to_table(report).find("window_samples"), std::string::npos);
}

TEST(FrontEndBench, WritesWhatItSays) {
  const test::TemporaryFolder folder;
  const auto run = test::run_nearfield(
      "bench frontends --quick --repetitions 5 --warm-up 0 --n 1,2 --set array.rows=8 --set array.columns=8 "
      "--set array.layout=row-major --set front_end.window_samples=64 --json " +
      folder / "a.json" + " --csv " + folder / "a.csv" + " --png " + folder / "plots");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("decimated_fft"), std::string::npos);
  std::ifstream file(folder / "a.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_FALSE(json.at("commit").get<std::string>().empty());
  EXPECT_FALSE(json.at("device").at("driver").get<std::string>().empty());
  EXPECT_NE(json.at("settings").get<std::string>().find("window_samples: 64"), std::string::npos);
  EXPECT_EQ(json.at("runs").at(0).at("variant"), "decimated_fft");
  EXPECT_EQ(json.at("runs").at(0).at("wall_s").at("count"), 5);
  EXPECT_TRUE(std::filesystem::exists(folder / "plots/stage_times.png"));
  EXPECT_TRUE(std::filesystem::exists(folder / "plots/walsh_coefficients.png"));
  std::ifstream csv(folder / "a.csv");
  std::string line;
  std::getline(csv, line);
  const auto columns = std::count(line.begin(), line.end(), ',');
  int lines = 0;
  while (std::getline(csv, line)) {
    // Names hold commas, in quotes.
    const std::string rest = line.substr(line.rfind('"') + 1);
    EXPECT_EQ(std::count(rest.begin(), rest.end(), ','), columns) << line;
    ++lines;
  }
  EXPECT_GT(lines, 8);
}

TEST(FrontEndBench, RefusesWrongArguments) {
  constexpr int kUsage = static_cast<int>(ExitCode::kUsage);
  EXPECT_EQ(test::run_nearfield("bench nonsense").exit_code, kUsage);
  EXPECT_EQ(test::run_nearfield("bench frontends --n 0 --quick").exit_code, kUsage);
  EXPECT_EQ(test::run_nearfield("bench frontends --repetitions 0").exit_code, kUsage);
}

}  // namespace
}  // namespace nearfield::bench
