#include "bench/frames/frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"
#include "support/command.hpp"

namespace nearfield::bench {
namespace {

constexpr const char* kTiny =
    " --quick --repetitions 5 --warm-up 0 --set array.rows=8 --set array.columns=8 --set array.layout=row-major "
    "--set front_end.window_samples=64 --set front_end.hop_samples=8 --set front_end.frequencies_hz=[1464.84375]";

FrameBenchOptions tiny() {
  FrameBenchOptions options;
  options.settings.array.geometry = {.rows = 8, .columns = 8};
  options.settings.array.layout = WireLayout::kRowMajor;
  options.settings.front_end.window_samples = 64;
  options.settings.front_end.hop_samples = 8;
  options.settings.front_end.frequencies_hz = {1464.84375, 2929.6875};
  options.settings.explicit_keys = {"front_end.frequencies_hz"};
  options.sweeps = {.counts = {1, 3, 100},
                    .front_ends = {"decimated_fft"},
                    .planes = {1, 2},
                    .hops = {},
                    .batches = {},
                    .windows = {64, 128},
                    .rows = {},
                    .columns = {},
                    .thesis = true};
  options.timing = {.warm_up = 1, .repetitions = 5};
  options.quick = true;
  return options;
}

// --- arithmetic ------------------------------------------------------------------------------------------------------

TEST(FitLine, FindsALineAndHowFarPointsAreFromIt) {
  const Line exact = fit_line({1.0, 5.0, 20.0}, {5.0, 13.0, 43.0});
  EXPECT_NEAR(exact.slope, 2.0, 1e-12);
  EXPECT_NEAR(exact.offset, 3.0, 1e-12);
  EXPECT_NEAR(exact.residual, 0.0, 1e-12);
  // Turned about its middle: the slope stays, every point is 1 away, the mean is 2.
  const Line off = fit_line({0.0, 1.0, 2.0, 3.0}, {3.0, 1.0, 1.0, 3.0});
  EXPECT_NEAR(off.slope, 0.0, 1e-12);
  EXPECT_NEAR(off.offset, 2.0, 1e-12);
  EXPECT_NEAR(off.residual, 1.0, 1e-12);
  EXPECT_NEAR(off.relative_residual, 0.5, 1e-12);
  EXPECT_THROW(fit_line({1.0, 1.0}, {1.0, 2.0}), Error);
  EXPECT_THROW(fit_line({1.0, 2.0}, {1.0}), Error);
  EXPECT_THROW(fit_line({}, {}), Error);
}

Ceilings round_ceilings() {
  Ceilings ceilings;
  ceilings.locked_write_bytes_per_s = 10.0;
  ceilings.locked_read_bytes_per_s = 20.0;
  ceilings.copy_bytes_per_s = 100.0;
  ceilings.operations_per_s = 1000.0;
  ceilings.launch_and_wait_s = 9.0;
  ceilings.further_launch_s = 3.0;
  // Pageable transfers have no part in a frame.
  ceilings.write_bytes_per_s = ceilings.read_bytes_per_s = 1e-6;
  return ceilings;
}

TEST(Floors, AddBytesOverTheirCeilingsAndCommandsTimesTheirLaunch) {
  FrameTiming timing;
  timing.stages = {{.stage = "a/write", .phase = {}, .device_s = {}, .commands = 1.0},
                   {.stage = "a/kernel", .phase = {}, .device_s = {}, .commands = 2.0},
                   {.stage = "a/read", .phase = {}, .device_s = {}, .commands = 1.0}};
  const std::vector<StageNeed> needs = {{.bytes = 20.0}, {.bytes = 300.0, .operations = 5000.0}, {.bytes = 80.0}};
  const Floors floors = floors_of(timing, needs, round_ceilings());
  EXPECT_DOUBLE_EQ(floors.bytes_s, 2.0 + 3.0 + 4.0);
  EXPECT_DOUBLE_EQ(floors.launches_s, 9.0 + 3.0 * 3.0);
  EXPECT_DOUBLE_EQ(stage_floor_s(timing.stages[0], needs[0], round_ceilings()), 2.0);
  EXPECT_DOUBLE_EQ(stage_floor_s(timing.stages[1], needs[1], round_ceilings()), 5.0);  // of its operations
  EXPECT_DOUBLE_EQ(stage_floor_s(timing.stages[2], needs[2], round_ceilings()), 4.0);
}

Settings five_frequencies() {
  Settings settings;
  settings.front_end.frequencies_hz = {1000.0, 2000.0, 3000.0, 4000.0, 5000.0};
  settings.holography.imager = ImagerKind::kPnah;
  return settings;
}

TEST(FrameNeeds, AreThePlansSizes) {
  const Settings settings = five_frequencies();
  // Rows of 32 measured of 96 to images of 32 x 32, five of them; 5 N lg N a row of 96 points.
  const StageNeed rows = frame_need_of("imaging/fused/rows", settings);
  EXPECT_DOUBLE_EQ(rows.bytes, 5.0 * 32 * (96 + 32) * 8);
  EXPECT_DOUBLE_EQ(rows.operations, 5.0 * 32 * 5 * 96 * std::log2(96.0));
  // 17 terms and what tells clipping; 1024 lanes of 8 bytes: one block comes and one leaves, state in and out.
  const StageNeed slide = frame_need_of("front_end/popcount/slide", settings);
  EXPECT_DOUBLE_EQ(slide.bytes, 4.0 * 18 * 1024 * 8 + 5 * 1024 * 8);
  // 32 words of 1024 microphones, 2 moments, 17 terms; one block's sums.
  const StageNeed sums = frame_need_of("front_end/popcount/block_sums", settings);
  EXPECT_DOUBLE_EQ(sums.bytes, 32.0 * 1024 * 4 + 32 * 17 * 2 * 8 + 18 * 1024 * 8);
  EXPECT_DOUBLE_EQ(sums.operations, 32.0 * 1024 * (24 + 17 * 2 * 4) + 1024 * 17 * 6);
  // In one launch the block that comes stays on the device's cores.
  const StageNeed both = frame_need_of("front_end/popcount/advance", settings);
  EXPECT_DOUBLE_EQ(both.bytes, sums.bytes + slide.bytes - 18 * 1024 * 8);
  EXPECT_DOUBLE_EQ(both.operations, sums.operations + slide.operations);
  const StageNeed forward = frame_need_of("imaging/forward_fft/clfft", settings);
  EXPECT_DOUBLE_EQ(forward.operations, 5.0 * 5 * 96 * 96 * std::log2(96.0 * 96));
  EXPECT_EQ(frame_need_of("nobody/knows", settings).bytes, 0.0);
}

TEST(FrameNeeds, GrowWithFrequenciesPlanesAndBatchesButNotFaster) {
  const Settings one = five_frequencies();
  Settings twice = one;
  twice.front_end.frequencies_hz.insert(twice.front_end.frequencies_hz.end(), {6e3, 7e3, 8e3, 9e3, 1e4});
  Settings batched = one;
  batched.device.batch = 2;
  Settings planes = one;
  planes.holography.planes_m = {0.0, 0.01};
  for (const std::string stage :
       {"imaging/fused/aperture", "imaging/fused/columns", "imaging/fused/rows", "front_end/popcount/block_sums",
        "front_end/popcount/slide", "front_end/popcount/slide_vectors"}) {
    const StageNeed base = frame_need_of(stage, one);
    for (const StageNeed& more : {frame_need_of(stage, twice), frame_need_of(stage, batched)}) {
      EXPECT_GT(more.bytes, base.bytes) << stage;
      EXPECT_LE(more.bytes, 2.0 * base.bytes) << stage;
      EXPECT_GT(more.operations, base.operations) << stage;
      EXPECT_LE(more.operations, 2.0 * base.operations) << stage;
    }
  }
  EXPECT_EQ(frame_need_of("imaging/fused/aperture", planes).bytes, frame_need_of("imaging/fused/aperture", one).bytes);
  EXPECT_EQ(frame_need_of("imaging/fused/rows", planes).bytes, 2.0 * frame_need_of("imaging/fused/rows", one).bytes);
}

// What sums up for a configuration is what its front end and each of its processors say.
TEST(FrameNeeds, AreThoseOfFurtherProcessorsToo) {
  Settings settings = five_frequencies();
  EXPECT_EQ(frame_need_of("processors/row_power/row_power", settings).bytes, 0.0);
  settings.processors.emplace_back();
  settings.processors.back().name = "rows";
  settings.processors.back().kind = "row_power";
  // Five spectra of 1024 microphones, as many weights, and 32 rows of each.
  const StageNeed power = frame_need_of("processors/row_power/row_power", settings);
  EXPECT_DOUBLE_EQ(power.bytes, 5.0 * 1024 * (8 + 4) + 5 * 32 * 4);
  EXPECT_DOUBLE_EQ(power.operations, 5.0 * 5 * 1024);
}

TEST(FrameCases, WalkEveryFrontEndFromTheDefaultOn) {
  const std::vector<std::string> walked = FrameSweeps().front_ends;
  EXPECT_EQ(walked.front(), FrontEndSettings().kind);
  std::set<std::string> kinds;
  for (const schema::FrontEndKind& kind : schema::front_end_kinds()) {
    kinds.emplace(kind.name);
  }
  EXPECT_EQ(std::set(walked.begin(), walked.end()), kinds);
  EXPECT_TRUE(std::is_partitioned(walked.begin(), walked.end(), [](const std::string& kind) {
    return !schema::front_end_kind(kind).any_frequency.empty();
  }));
}

TEST(SweepLines, AreOfWholeFramesAndOfStagesThatEveryPointHas) {
  std::vector<FrameRun> runs;
  for (const double n : {20.0, 1.0, 5.0}) {  // in any order
    FrameRun run{.what = {.sweep = "n", .label = {}, .value = n}};
    run.what.settings.device.batch = 2;
    run.timing.wall_s = distribution({2.0 * (3.0 + 0.5 * n)});
    run.timing.stages = {{.stage = "always", .phase = {}, .device_s = distribution({2.0 * n * n})}};
    if (n > 16.0) {
      run.timing.stages.push_back({.stage = "sometimes", .phase = {}, .device_s = distribution({1.0})});
    }
    runs.push_back(run);
  }
  const std::vector<SweepLine> lines = sweep_lines(runs);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].what, "frame");
  EXPECT_NEAR(lines[0].line.slope, 0.5, 1e-12);  // of a frame: launches are of two
  EXPECT_NEAR(lines[0].line.offset, 3.0, 1e-12);
  EXPECT_EQ(lines[1].what, "always");
  EXPECT_NEAR(lines[1].exponent, 2.0, 1e-12);  // faster than its input
}

// A hop shorter than 32 may take as long as hop 32, a longer one as many times that as it is longer.
TEST(HopCosts, AreTimesOverThatOfHop32) {
  std::vector<FrameRun> runs;
  for (const auto& [hop, seconds] :
       {std::pair{64.0, 4.0}, std::pair{1.0, 1.0}, std::pair{32.0, 2.0}, std::pair{48.0, 6.0}}) {
    FrameRun run{.what = {.sweep = "hop", .label = {}, .value = hop}};
    run.timing.wall_s = distribution({seconds});
    runs.push_back(run);
  }
  const std::vector<HopCost> costs = hop_costs(runs);
  ASSERT_EQ(costs.size(), 4U);
  EXPECT_EQ(costs[0].hop_samples, 1);
  EXPECT_DOUBLE_EQ(costs[0].of_hop_32, 0.5);
  EXPECT_DOUBLE_EQ(costs[1].of_hop_32, 1.0);
  EXPECT_DOUBLE_EQ(costs[2].of_hop_32, 2.0);
  EXPECT_TRUE(costs[2].is_cliff());
  EXPECT_DOUBLE_EQ(costs[3].of_hop_32, 1.0);
  EXPECT_FALSE(costs[3].is_cliff());
  runs.erase(runs.begin() + 2);  // without hop 32 there is nothing to compare with
  EXPECT_TRUE(hop_costs(runs).empty());
}

FrameRun made_up(const std::string& sweep, double value, double seconds) {
  FrameRun run{.what = {.sweep = sweep, .label = std::to_string(static_cast<int>(value)), .value = value}};
  run.timing.wall_s = distribution({seconds});
  run.front_end = "front end";
  run.imager = "imager";
  return run;
}

// A hop that costs 1.43 times what hop 32 allows is within the rule, one of 1.44 times is not.
TEST(BrokenRules, NameHopsThatCostMoreThanHop32Allows) {
  const std::vector<FrameRun> runs = {made_up("hop", 32.0, 1.0), made_up("hop", 64.0, 2.0 * 1.43),
                                      made_up("hop", 8.0, 1.44)};
  const std::vector<std::string> broken = broken_rules(runs);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0], "hop 8: a frame takes 1.44 times what hop 32 allows, at most 1.43 are expected");
}

// Twice the frequencies may take three times as long, and no less than two thirds of the time.
TEST(SweepSteps, AreTimesOverTheGrowthOfTheFactorEitherWay) {
  const std::vector<FrameRun> runs = {made_up("n", 4.0, 9.0), made_up("n", 1.0, 1.0),  // in any order
                                      made_up("n", 2.0, 3.0), made_up("n", 8.0, 5.9), made_up("n", 16.0, 5.9)};
  const std::vector<SweepStep> steps = sweep_steps(runs);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_DOUBLE_EQ(steps[0].ratio, 1.5);
  EXPECT_FALSE(steps[0].is_large());
  EXPECT_DOUBLE_EQ(steps[1].ratio, 1.5);
  EXPECT_DOUBLE_EQ(steps[2].ratio, 9.0 / 5.9) << "the larger one takes less";
  EXPECT_TRUE(steps[2].breaks_rule());
  EXPECT_DOUBLE_EQ(steps[3].ratio, 1.0);
  const std::vector<std::string> broken = broken_rules(runs);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0], "n, from 4 to 8: a step of 1.53, at most 1.50 is expected");
}

// A batch's launch is what grows with it.
TEST(SweepSteps, OfBatchesAreOfLaunches) {
  std::vector<FrameRun> runs = {made_up("batch", 1.0, 1.0), made_up("batch", 8.0, 2.0)};
  runs[1].what.settings.device.batch = 8;
  EXPECT_TRUE(broken_rules(runs).empty()) << "a frame takes a quarter of the time";
  runs[1].timing.wall_s = distribution({12.1});
  EXPECT_EQ(broken_rules(runs).size(), 1U);
}

// Another path or another transform, which the imager's name has, explains a step; it is listed, and breaks no rule.
TEST(SweepSteps, SayWhatElseChanges) {
  std::vector<FrameRun> runs = {made_up("rows", 32.0, 1.0), made_up("rows", 33.0, 9.0)};
  EXPECT_EQ(broken_rules(runs).size(), 1U);
  runs[1].imager = "another";
  EXPECT_EQ(sweep_steps(runs).at(0).changes, std::vector<std::string>{"imager"});
  EXPECT_TRUE(sweep_steps(runs).at(0).is_large());
  EXPECT_TRUE(broken_rules(runs).empty());
  runs[1].front_end = "another";
  EXPECT_EQ(sweep_steps(runs).at(0).changes, (std::vector<std::string>{"front end", "imager"}));
  FrameReport report;
  report.runs = runs;
  report.runs.insert(report.runs.begin(), made_up("base", 0.0, 1.0));
  EXPECT_NE(to_table(report).find("another front end, imager"), std::string::npos);
  EXPECT_NE(to_table(report).find("Nothing breaks the rules"), std::string::npos);
  report.runs[2].front_end = "front end";
  report.runs[2].imager = "imager";
  EXPECT_NE(to_table(report).find("BREAKS THE RULES:\n  rows, from 32 to 33"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json_text(report));
  EXPECT_EQ(json["rules"]["broken"].size(), 1U);
  EXPECT_EQ(json["rules"]["steps"][0]["breaks_rule"], true);
}

// --- cases -----------------------------------------------------------------------------------------------------------

std::size_t count_of(const std::vector<FrameCase>& cases, std::string_view sweep) {
  return static_cast<std::size_t>(
      std::count_if(cases.begin(), cases.end(), [&](const FrameCase& c) { return c.sweep == sweep; }));
}

TEST(FrameCases, VaryOneFactorAtATime) {
  FrameBenchOptions options;
  const std::vector<FrameCase> cases = frame_cases(options);
  EXPECT_EQ(cases.front().sweep, "base");
  EXPECT_EQ(cases.front().settings.front_end.frequencies_hz.size(), static_cast<std::size_t>(kBaseCount));
  EXPECT_EQ(count_of(cases, "n"), 6U);
  EXPECT_EQ(count_of(cases, "front end"), 4U);
  EXPECT_EQ(count_of(cases, "rows"), 7U);
  EXPECT_EQ(count_of(cases, "columns"), 7U);
  EXPECT_EQ(count_of(cases, "n x batch"), 0U);
  EXPECT_EQ(count_of(cases, kThesisSweep), 15U);
  options.sweeps.crossed = true;
  EXPECT_EQ(count_of(frame_cases(options), "n x batch"), 24U);
  for (const FrameCase& c : cases) {
    // 64 frames at a hop of 32 span more than a window.
    EXPECT_EQ(c.problem.empty(), c.label != "batch 64") << c.label << c.problem;
    if (c.sweep == "window") {
      EXPECT_EQ(c.settings.front_end.window_samples, static_cast<int>(c.value));
      EXPECT_EQ(c.settings.front_end.frequencies_hz.size(), static_cast<std::size_t>(kBaseCount));
      EXPECT_EQ(c.settings.front_end.hop_samples, 32);
    }
    if (c.sweep == "rows" || c.sweep == "columns") {
      EXPECT_EQ(c.settings.array.geometry.rows, c.sweep == "rows" ? static_cast<int>(c.value) : 32);
      EXPECT_EQ(c.settings.array.geometry.columns, c.sweep == "columns" ? static_cast<int>(c.value) : 32);
    }
    if (c.sweep == "planes") {
      EXPECT_EQ(c.settings.holography.planes_m.size(), static_cast<std::size_t>(c.value));
    }
  }
}

TEST(FrameCases, KeepTheConfigurationsFrequenciesAndCompareWithTheThesisAtItsSizesOnly) {
  const std::vector<FrameCase> cases = frame_cases(tiny());
  EXPECT_EQ(cases.front().settings.front_end.frequencies_hz, tiny().settings.front_end.frequencies_hz);
  EXPECT_EQ(count_of(cases, kThesisSweep), 0U);
  EXPECT_EQ(count_of(cases, kTransformSweep), 0U);
}

// --- measurements ----------------------------------------------------------------------------------------------------

TEST(FrameBench, MeasuresEveryCaseAndSaysWhyOneCannotBe) {
  const FrameReport report = bench_frames(tiny());
  ASSERT_EQ(report.runs.size(), 1U + 3 + 1 + 2 + 2);
  const FrameRun& base = report.runs.front();
  EXPECT_EQ(base.timing.wall_s.count, 5U);
  EXPECT_GT(base.timing.wall_s.minimum, 0.0);
  EXPECT_GT(base.floors.bytes_s, 0.0);
  EXPECT_GE(base.floors.launches_s, report.ceilings.launch_and_wait_s);
  const auto bytes_of = [&](const std::string& stage) {
    double bytes = 0.0;
    for (std::size_t i = 0; i < base.timing.stages.size(); ++i) {
      bytes += base.timing.stages[i].stage == stage ? base.needs[i].bytes : 0.0;
    }
    return bytes;
  };
  EXPECT_EQ(bytes_of("front_end/popcount/write"), 8.0 * 64 * 4);
  EXPECT_GE(bytes_of("imaging/results/read"), 2.0 * 64 * 8);
  EXPECT_EQ(runs_of(report, "n").size(), 2U);
  const auto refused =
      std::find_if(report.runs.begin(), report.runs.end(), [](const FrameRun& r) { return !r.measured(); });
  ASSERT_NE(refused, report.runs.end());
  EXPECT_EQ(refused->what.label, "n = 100");  // a window of 64 has 31 bins
  EXPECT_NE(refused->problem.find("31"), std::string::npos);
  EXPECT_GE(
      std::count_if(report.lines.begin(), report.lines.end(), [](const SweepLine& l) { return l.what == "frame"; }), 2);
  EXPECT_TRUE(nlohmann::json::accept(to_json_text(report)));
  EXPECT_NE(to_table(report).find("31"), std::string::npos);
}

TEST(FrameBench, RefusesABaseThatCannotBe) {
  FrameBenchOptions options = tiny();
  options.settings.front_end.frequencies_hz = {1464.84375, 1464.84375};
  EXPECT_THROW(bench_frames(options), ConfigError);
}

// --- streams ---------------------------------------------------------------------------------------------------------

TEST(KeepEvery, IsAThousandAtMostAndLeavesFewDifferentWindows) {
  for (const std::uint64_t hops : {1U, 40U, 256U, 300U, 4096U, 32768U}) {
    const std::uint64_t every = keep_every(hops);
    EXPECT_GE(every, 1U);
    EXPECT_LE(every, 1000U);
    EXPECT_LE(hops / std::gcd(every, hops), 150U) << hops;
  }
}

TEST(BitPool, RepeatsItselfAfterItsSamples) {
  const BitPool pool(bits_plan(tiny().settings));
  EXPECT_EQ(pool.samples(), 256U * 8);
  EXPECT_EQ(pool.words_per_sample(), 64U);
  std::vector<std::uint32_t> across(4 * 64);
  pool.copy(pool.samples() - 2, across);
  std::vector<std::uint32_t> start(2 * 64);
  pool.copy(3 * pool.samples(), start);
  EXPECT_TRUE(std::equal(start.begin(), start.end(), across.begin() + 2 * 64));
  pool.copy(pool.samples() - 2, start);
  EXPECT_TRUE(std::equal(start.begin(), start.end(), across.begin()));
  EXPECT_FALSE(std::equal(start.begin(), start.end(), across.begin() + 2 * 64));
}

TEST(Checksum, ChangesWithEveryPixelAndItsPlace) {
  std::vector<std::complex<float>> images(100);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i] = {static_cast<float>(i), 1.0F};
  }
  const std::uint64_t sum = checksum_of(images);
  std::vector<std::complex<float>> other = images;
  other[57].imag(1.0000001F);
  EXPECT_NE(checksum_of(other), sum);
  other = images;
  std::swap(other[3], other[4]);
  EXPECT_NE(checksum_of(other), sum);
  // Of so many pixels that threads share them: every one counts, at its place.
  std::vector<std::complex<float>> large(std::size_t{1} << 21U, {1.0F, 2.0F});
  const std::uint64_t large_sum = checksum_of(large);
  for (const std::size_t i : {std::size_t{0}, large.size() / 2 - 1, large.size() / 2, large.size() - 1}) {
    std::vector<std::complex<float>> changed = large;
    changed[i].real(3.0F);
    EXPECT_NE(checksum_of(changed), large_sum) << i;
  }
}

struct Streamed {
  SustainedRun run;
  std::vector<KeptFrame> kept;
};

/// One launch, of which every frame is kept.
Streamed one_launch(const EnginePlan& plan, const BitPool& pool) {
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::kOpencl, plan);
  Streamed found;
  found.run = run_stream(*engine, plan, pool, {.seconds = 0.0, .every = 1, .keep = [&](KeptFrame frame) {
                                                 found.kept.push_back(std::move(frame));
                                               }});
  const auto batch = static_cast<std::uint64_t>(plan.settings.device.batch);
  // From the first whole hop on that has its history; a batch before is not timed.
  constexpr std::uint64_t kHop = 8;
  EXPECT_EQ(found.kept.front().first_sample, (engine->history_samples() + kHop - 1) / kHop * kHop + kHop * batch);
  return found;
}

class Stream : public testing::TestWithParam<std::string> {};

TEST_P(Stream, IsHeldAgainstTheReference) {
  for (const int batch : {1, 3}) {
    SCOPED_TRACE(batch);
    Settings settings = tiny().settings;
    settings.front_end.kind = GetParam();
    settings.device.batch = batch;
    const EnginePlan plan = bits_plan(settings);
    const BitPool pool(plan);
    auto [run, kept] = one_launch(plan, pool);
    const auto frames = static_cast<std::size_t>(batch);
    EXPECT_EQ(run.frames, frames);
    ASSERT_EQ(kept.size(), frames);
    EXPECT_EQ(kept[0].images.size(), 2U * 64);
    EXPECT_FALSE(run.problem().empty());  // nothing was checked yet
    run.check = check_frames(plan, pool, kept);
    EXPECT_EQ(run.check.frames, frames);
    EXPECT_EQ(run.check.windows, frames);
    // Rounding in float32, as in cli_tests' EveryFrontEnd.
    EXPECT_LE(run.check.worst, 3e-5);
    EXPECT_EQ(run.problem(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(FrontEnds, Stream, testing::ValuesIn(kinds_from_the_default_on()),
                         [](const auto& kind) { return kind.param; });

TEST(StreamCheck, FailsOnWrongImages) {
  const EnginePlan plan = bits_plan(tiny().settings);
  const BitPool pool(plan);
  Streamed streamed = one_launch(plan, pool);
  const auto problem_with = [&](const auto& change) {
    SustainedRun& run = streamed.run;
    std::vector<KeptFrame> wrong = {streamed.kept[0], streamed.kept[0]};
    change(wrong[1]);
    run.check = check_frames(plan, pool, wrong);
    return run.problem();
  };
  EXPECT_EQ(problem_with([](KeptFrame&) {}), "");
  // Images of the hop before, one pixel that is not a number, one that is off, none, and a part.
  EXPECT_NE(problem_with([](KeptFrame& frame) { frame.first_sample += 8; }), "");
  EXPECT_NE(problem_with([](KeptFrame& f) { f.images[5] = std::numeric_limits<float>::quiet_NaN(); }), "");
  EXPECT_NE(problem_with([](KeptFrame& f) { f.images[7] *= 1.5F; }), "");
  EXPECT_NE(problem_with([](KeptFrame& f) { std::fill(f.images.begin(), f.images.end(), 0.0F); }), "");
  EXPECT_NE(problem_with([](KeptFrame& f) { f.images.resize(64); }), "");
  EXPECT_EQ(problem_with([](KeptFrame&) {}), "");
  streamed.run.repeated = 1;  // bits changed and images did not
  EXPECT_NE(streamed.run.problem(), "");
}

// --- command ---------------------------------------------------------------------------------------------------------

TEST(FrameBench, WritesWhatItSays) {
  const test::TemporaryFolder folder;
  const auto run =
      test::run_nearfield("bench frames --no-sweeps --n 1,2 --windows 64,128 --sustain 0.05" + std::string(kTiny) +
                          " --json " + folder / "a.json" + " --csv " + folder / "a.csv" + " --png " + folder / "plots");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  std::ifstream file(folder / "a.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json.at("benchmark"), "frames");
  EXPECT_FALSE(json.at("commit").get<std::string>().empty());
  EXPECT_FALSE(json.at("device").at("driver").get<std::string>().empty());
  EXPECT_NE(json.at("settings").get<std::string>().find("window_samples: 64"), std::string::npos);
  EXPECT_EQ(json.at("runs").size(), 5U);
  EXPECT_EQ(json.at("runs").at(0).at("launch_wall_s").at("count"), 5);
  EXPECT_GT(json.at("ceilings").at("locked_write_bytes_per_s").get<double>(), 0.0);
  EXPECT_GE(json.at("sustained").at("checked_frames").get<int>(), 1);
  EXPECT_EQ(json.at("sustained").at("problem"), "");
  for (const std::string name : {"frames_against_n.png", "frames_against_window.png", "frames_roofline.png"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / ("plots/" + name))) << name;
  }
  std::ifstream csv(folder / "a.csv");
  std::string line;
  std::getline(csv, line);
  const auto columns = std::count(line.begin(), line.end(), ',');
  int lines = 0;
  while (std::getline(csv, line)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
    ++lines;
  }
  EXPECT_GT(lines, 20);
}

TEST(FrameBench, IsWhatPlainBenchDoes) {
  const auto run = test::run_nearfield("bench --no-sweeps" + std::string(kTiny));
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("imaging/results/read"), std::string::npos);
}

TEST(FrameBench, RefusesWrongArguments) {
  constexpr int kUsage = static_cast<int>(ExitCode::kUsage);
  EXPECT_EQ(test::run_nearfield("bench frames --n 0").exit_code, kUsage);
  EXPECT_EQ(test::run_nearfield("bench frames --front-ends fft").exit_code, kUsage);
  EXPECT_EQ(test::run_nearfield("bench frames --sustain -1").exit_code, kUsage);
  EXPECT_EQ(test::run_nearfield("bench --json x.json imager --n 1").exit_code, kUsage);
}

// A map alone, from bits: no stage of an imager runs.
TEST(BenchFrames, MeasureAMapWithoutHolography) {
  const auto result = test::run_nearfield(
      "bench frames --no-sweeps --no-thesis --json -" + std::string(kTiny) +
      " --set holography.imager=none --set processors.far.kind=beamform --set processors.far.grid.step_m=0.2");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("processors/beamform"), std::string::npos);
  EXPECT_EQ(result.output.find("imaging/"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace nearfield::bench
