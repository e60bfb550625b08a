#include "bench/devices/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "config/config.hpp"
#include "support/command.hpp"

namespace nearfield::bench {
namespace {

using testing::HasSubstr;

constexpr const char* kTwoAlike = "POCL_DEVICES='pthread pthread'";
constexpr const char* kTiny =
    "--set array.rows=8 --set array.columns=8 --set array.layout=row-major --set front_end.window_samples=64 "
    "--set front_end.hop_samples=8 --n 4 --planes 2 --replay-n 2 --batches 4 --split-batches 2 --rounds 1 "
    "--most-seconds 0.05 ";

TEST(BenchDevices, SplitsFrequenciesOverDevices) {
  Settings settings;
  settings.front_end.frequencies_hz = {100, 200, 300, 400, 500};
  settings.holography.planes_m = {0.0, 0.01};
  settings.holography.filter.slope = 0.2;
  const std::vector<DeviceSettings> devices = {{.index = 0}, {.index = 1}, {.platform = "NVIDIA", .index = 2}};
  const Settings split = split_over(settings, devices);
  EXPECT_EQ(split.front_end.frequencies_hz, std::vector<double>({100}));
  ASSERT_EQ(split.processors.size(), 2U);
  EXPECT_EQ(split.processors[0].front_end.frequencies_hz, std::vector<double>({200, 300}));
  EXPECT_EQ(split.processors[1].front_end.frequencies_hz, std::vector<double>({400, 500}));
  EXPECT_EQ(split.processors[0].device, "auto:1");
  EXPECT_EQ(split.processors[1].device, "NVIDIA:2");
  // As a user would write it.
  const std::string text = to_yaml(split);
  EXPECT_THAT(text, HasSubstr("part_2"));
  const test::TemporaryFolder folder;
  std::ofstream(folder / "split.yaml") << text;
  EXPECT_EQ(to_yaml(load_settings(folder / "split.yaml", {})), text);
}

TEST(BenchDevices, MeasuresTwoAlikeDevicesInTurn) {
  const test::TemporaryFolder folder;
  const auto result =
      test::run_nearfield("bench devices " + std::string(kTiny) + " --json " + (folder / "devices.json"), kTwoAlike);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("number 1"));
  std::ifstream file(folder / "devices.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json.at("devices"), 2);
  ASSERT_EQ(json.at("runs").size(), 2U);
  for (const auto& run : json.at("runs")) {
    ASSERT_EQ(run.at("rounds").size(), 1U);
    for (const auto& round : run.at("rounds")) {
      EXPECT_GT(round.at("one_per_s"), 0.0);
      EXPECT_GT(round.at("all_per_s"), 0.0);
    }
    const bool is_replay = run.at("what") == "replay";
    EXPECT_EQ(run.at("frequencies"), is_replay ? 2 : 4);
    EXPECT_EQ(run.at("planes"), is_replay ? 1 : 2);
    ASSERT_TRUE(run.at("difference").is_number()) << "the frames of all are those of one, in their order";
    EXPECT_LE(run.at("difference"), is_replay ? 0.0 : 1e-6);
  }
}

// Several blocks for each of two engines, in this process.
TEST(BenchDevices, DealsOutBlocks) {
  DevicesBenchOptions options;
  options.settings.array.geometry = {.rows = 8, .columns = 8};
  options.settings.array.layout = WireLayout::kRowMajor;
  options.settings.front_end.window_samples = 64;
  options.settings.front_end.hop_samples = 8;
  options.devices = {options.settings.device, options.settings.device};
  options.replay_batches = {2};
  options.replay_count = 1;
  options.split_batches = {};
  options.rounds = 1;
  options.most_s = 0.05;
  options.block_hops = 20;
  const DevicesReport report = bench_devices(options);
  ASSERT_EQ(report.runs.size(), 1U);
  EXPECT_GT(report.runs[0].frames, 0U);
  EXPECT_EQ(report.runs[0].difference, 0.0);
}

TEST(BenchDevices, WantsTwoDevicesThatAreAlike) {
  for (const char* devices : {"pthread", "'basic pthread'"}) {
    const auto result =
        test::run_nearfield("bench devices " + std::string(kTiny), std::string("POCL_DEVICES=") + devices);
    EXPECT_EQ(result.exit_code, 69) << result.output;
    EXPECT_THAT(result.output, HasSubstr("expected two OpenCL devices that are alike"));
  }
  EXPECT_EQ(test::run_nearfield("bench devices --devices 0", kTwoAlike).exit_code, 64);
  EXPECT_EQ(test::run_nearfield("bench devices --devices 0,0", kTwoAlike).exit_code, 64);
}

}  // namespace
}  // namespace nearfield::bench
