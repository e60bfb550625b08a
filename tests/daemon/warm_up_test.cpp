#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "daemon/daemon_support.hpp"
#include "daemon/nearfieldd_process.hpp"
#include "frontend/front_end.hpp"
#include "processors/processor.hpp"

/// No kernel of a live stream is compiled behind a frame: each that a configuration has runs in the warm-up.
namespace nearfield::daemon {
namespace {

using test::NearfielddTest;

struct Case {
  std::string name;
  std::vector<std::string> overrides;
  bool takes_bits = true;
};

/// 8 x 8 microphones with everything that can be found or masked later.
Settings settings_of(const Case& one) {
  std::vector<std::string> overrides = {"array.rows=8",
                                        "array.columns=8",
                                        "array.pitch_x_m=0.02",
                                        "array.pitch_y_m=0.02",
                                        "array.layout=row-major",
                                        "holography.standoff_m=0.03",
                                        "front_end.window_samples=256",
                                        "front_end.hop_samples=128",
                                        "front_end.frequencies_hz=[1464.84375, 2929.6875]",
                                        "device.batch=2"};
  overrides.insert(overrides.end(), one.overrides.begin(), one.overrides.end());
  return load_settings("", overrides);
}

/// Kernels that were made for it and that no launch of the start has run.
std::set<std::string> never_run(const Case& one) {
  const Settings settings = settings_of(one);
  LiveInput input = test::small_input();
  if (!one.takes_bits) {
    input.form = InputForm::kSamples;
    input.elements_per_sample = 1;
    input.words_per_element = 64;
    input.element_rate_hz = kBitRateHz / kBitsPerWord;
  }
  const EnginePlan plan = live_plan(settings, input);
  const ocl::Device device = ocl::Device::open(plan.settings.device, ocl::Profiling::kOn);
  device.recorder()->set_active(true);
  const std::unique_ptr<Engine> engine = make_engine(device, plan);
  warm_up(*engine, plan, input);
  std::set<std::string> never = device.recorder()->kernels();
  for (const auto& [stage, use] : device.recorder()->take_uses()) {
    never.erase(stage);
  }
  return never;
}

/// Kernels that plans of some kind have no use for, whatever comes: their programs hold them all.
bool is_of_no_use(const std::string& kernel, const Case& one) {
  // Masked microphones are predicted from their neighbours, or by sonah's prior: a plan does one of them.
  const bool predicts =
      kernel == "imaging/microphones/microphone_predict" || kernel == "imaging/microphones/microphone_predict_by_prior";
  // Samples in pascal have no full scale, which check_window() compares with.
  const bool clips = !one.takes_bits && (kernel.find("clip") != std::string::npos || kernel.ends_with("check_window"));
  // Weights of signal to noise alone measure a floor, and plans of several sources alone look for later maxima;
  // CLEAN-SC needs no products of snapshots; which kernel of dot products has parts to sum is measured.
  const std::set<std::string> of_other_plans = {"processors/srp_phat/srp_floor", "processors/srp_phat/srp_maximum",
                                                "front_end/dot_product/sum_parts"};
  const bool is_other_way = of_other_plans.contains(kernel) ||
                            (kernel == "processors/beamform/history_products" && one.name == "beamform, clean_sc");
  return predicts || clips || is_other_way;
}

void expect_that_all_run(const Case& one) {
  std::set<std::string> never = never_run(one);
  std::erase_if(never, [&](const std::string& kernel) { return is_of_no_use(kernel, one); });
  EXPECT_THAT(never, testing::IsEmpty()) << one.name;
}

TEST(WarmUp, RunsEachKernelOfEachImager) {
  for (const std::string imager : {"pnah", "sonah", "operators"}) {
    for (const std::string cutoff : {"search", "auto"}) {
      if (imager == "pnah" || cutoff == "search") {
        expect_that_all_run(
            {imager + ", " + cutoff, {"holography.imager=" + imager, "holography.filter.cutoff_rad_per_m=" + cutoff}});
      }
    }
  }
}

TEST(WarmUp, RunsEachKernelOfEachFrontEnd) {
  for (const FrontEndEntry& entry : front_end_table()) {
    const std::string kind(entry.kind);
    expect_that_all_run({kind, {"front_end.kind=" + kind}});
  }
  expect_that_all_run({"samples", {"front_end.kind=dot_product"}, false});
}

TEST(WarmUp, RunsEachKernelOfEachProcessor) {
  const std::string grid = "grid: {distance_m: 1.0, x_m: [-0.5, 0.5], y_m: [-0.5, 0.5], step_m: 0.25}";
  const std::string beamform = "processors.far={kind: beamform, " + grid;
  std::vector<Case> cases = {
      {"row_power", {"processors.rows={kind: row_power}"}},
      {"spectrum", {"processors.points={kind: spectrum, points: [[0.01, 0.01]]}"}},
      {"listen", {"processors.ear={kind: listen, beams: [{x_m: 0.1, y_m: 0.0, distance_m: 1.0}]}"}},
      {"srp_phat", {"processors.where={kind: srp_phat, " + grid + "}"}},
      {"beamform", {beamform + "}"}},
      {"beamform, average", {beamform + ", average: {kind: linear, seconds: 5}}"}},
      {"beamform, exponential", {beamform + ", average: {kind: exponential, seconds: 5}}"}},
  };
  for (const std::string method : {"clean_sc", "functional", "orthogonal", "capon", "music"}) {
    cases.push_back(
        {"beamform, " + method, {beamform + ", method: " + method + ", average: {kind: none, snapshots: 16}}"}});
  }
  for (const Case& one : cases) {
    try {
      expect_that_all_run(one);
    } catch (const Error& error) {
      ADD_FAILURE() << one.name << ": " << error.what();
    }
  }
}

/// The programs of kernels that PoCL has compiled so far.
std::set<std::string> compiled(const std::filesystem::path& cache) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache)) {
    if (entry.path().extension() == ".so") {
      found.insert(entry.path().string());
    }
  }
  return found;
}

// From caches that are empty: a search that finds sources, and a new configuration, compile nothing behind a frame.
TEST_F(NearfielddTest, CompilesNothingOnceItIsReady) {
  std::ofstream(folder_ / "tone.yaml")
      << "version: 1\n"
         "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, layout: row-major}\n"
         "standoff_m: 0.03\nduration_s: 0.1\n"
         "sources: [{kind: monopole, frequency_hz: 1464.84375, x_m: 0.4, y_m: 0.2, z_m: -1.5, volume_velocity_m3_s: "
         "1.0e-4}]\n";
  const std::string pocl = folder_ / "pocl";
  std::filesystem::create_directory(pocl);
  start("--set daemon.source.kind=simulate --set daemon.source.scene=" + (folder_ / "tone.yaml") +
            " --set holography.imager=sonah --set holography.search_every_frames=20 --set device.platform=Portable",
        "POCL_CACHE_DIR=" + pocl + " NEARFIELD_CACHE_DIR=" + (folder_ / "programs"));
  const auto end = std::chrono::steady_clock::now() + 5 * test::kTimeout;  // it compiles for minutes on a busy machine
  while (log().find("frames a second on") == std::string::npos && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::set<std::string> at_start = compiled(pocl);
  EXPECT_GE(at_start.size(), 5U) << "the cache is used";
  const auto status = [this] { return call({{"command", "status"}}); };
  wait_until([&] { return status().at("search").at("searches") >= 3; });
  EXPECT_EQ(compiled(pocl), at_start);
  call({{"command", "set"}, {"settings", {"holography.imager=operators"}}});
  const std::set<std::string> at_change = compiled(pocl);
  const nlohmann::json frames = status().at("frames");
  wait_until([&] { return status().at("frames") > frames.get<int>() + 100; });
  EXPECT_EQ(compiled(pocl), at_change);
  EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace nearfield::daemon
