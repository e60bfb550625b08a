#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ostream>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/product.hpp"
#include "daemon/live_rig.hpp"

namespace nearfield::daemon {
namespace {

/// Bit-times that lack from each window, of those that start a hop apart.
std::vector<std::uint64_t> losses_of_windows(std::size_t windows, std::span<const MissingRun> missing) {
  std::vector<std::uint64_t> losses;
  for (std::uint64_t first = 0; losses.size() < windows; first += kHopBits) {
    losses.push_back(0);
    for (const MissingRun& run : missing) {
      const std::uint64_t begin = std::max(first, run.first_bit_time);
      const std::uint64_t end = std::min(first + kWindowBits, run.first_bit_time + run.bit_times);
      losses.back() += end > begin ? end - begin : 0;
    }
  }
  return losses;
}

// A frame of an average has the losses of its block's snapshots, every fourth window here, and of its own window: live,
// and in replays by the device and by the reference. An average goes on being compared with limits by its own window.
TEST(LiveEngine, FramesOfAnAverageHaveTheLossesOfItsSnapshots) {
  constexpr std::uint64_t kBits = 12 * kWindowBits;
  constexpr std::size_t kBlock = 4;  // snapshots
  constexpr std::size_t kApart = 4;  // windows
  const std::vector<MissingRun> missing = {{2 * kWindowBits + 100, 50}, {2 * kWindowBits + 400, 1300}};
  Settings settings = test::small_settings();
  const double seconds = static_cast<double>(kBlock * kApart * kHopBits) / settings.array.clock_hz;
  settings.processors =
      load_settings("", {"processors.far.kind=beamform", "processors.far.average.kind=linear",
                         fmt::format("processors.far.average.seconds={}", seconds), "processors.far.grid.step_m=0.25"})
          .processors;
  const std::vector<std::uint64_t> losses = losses_of_windows((kBits - kWindowBits) / kHopBits + 1, missing);
  const auto expect_losses = [&](const test::KeepingOutput& output, const std::string& how) {
    SCOPED_TRACE(how);
    ASSERT_EQ(output.others.size(), losses.size());
    std::uint64_t published = 0;
    int held = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const std::size_t snapshot = i / kApart;
      if (i % kApart == 0 && (snapshot < kBlock || snapshot % kBlock == kBlock - 1)) {
        published = 0;
        for (std::size_t one = snapshot / kBlock * kBlock; one <= snapshot; ++one) {
          published = std::max(published, losses[one * kApart]);
        }
      }
      const Frame& frame = output.others[i].frame;
      EXPECT_EQ(frame.missing_bit_times, std::max(published, losses[i])) << i;
      EXPECT_EQ((frame.flags & kFlagMissingBits) != 0, frame.missing_bit_times > 0) << i;
      held += losses[i] == 0 && published > 0 ? 1 : 0;
    }
    EXPECT_GT(held, 8);
  };
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  std::uint64_t fed = 0;
  for (const MissingRun& run : missing) {
    rig.feed_noise(fed, run.first_bit_time - fed);
    fed = run.first_bit_time + run.bit_times;
  }
  rig.feed_noise(fed, kBits - fed);
  rig.ring.end_stream();
  while (rig.engine.step(0) != LiveEngine::Step::kEnded) {
  }
  expect_losses(rig.sink, "live");
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", kBits, 1, missing);
  for (const EngineKind engine : {EngineKind::kOpencl, EngineKind::kReference}) {
    ReplayOptions options;
    options.input = folder / "capture.h5";
    options.settings = settings;
    options.engine = engine;
    std::vector<std::unique_ptr<Output>> outputs;
    outputs.push_back(std::make_unique<test::KeepingOutput>());
    replay(options, outputs);
    expect_losses(dynamic_cast<test::KeepingOutput&>(*outputs.front()),
                  engine == EngineKind::kOpencl ? "replay by the device" : "replay by the reference");
  }
}

// A second imager at every third hop, on the same spectra: its frames are those that it would make alone, and the first
// one's are as without it.
TEST(LiveEngine, ALateProcessorMakesTheFramesThatItWouldMakeAlone) {
  Settings alone = test::small_settings();
  alone.holography.imager = ImagerKind::kPnah;
  alone.holography.filter.cutoff_rule = CutoffRule::kDynamicRange;  // which depends on no frame before
  Settings velocity = alone;
  velocity.holography.quantity = Quantity::kNormalVelocity;
  Settings both = alone;
  const std::vector<std::string> lines = {"processors.velocity.kind=pnah", "processors.velocity.every_hops=3",
                                          "processors.velocity.quantity=normal_velocity",
                                          "processors.velocity.extrapolation.order=4",
                                          "processors.velocity.filter.cutoff_rad_per_m=dynamic_range"};
  both.processors = load_settings("", lines).processors;
  const auto frames_of = [](const Settings& settings) {
    auto rig = std::make_unique<Rig>(settings, 1U << 18U, patient_input());
    rig->ring.begin_stream(3, 0);
    rig->feed_noise(0, 32 * 16 * 40);
    rig->run();
    return rig;
  };
  const auto expected_images = frames_of(alone);
  const auto expected_velocity = frames_of(velocity);
  const auto found = frames_of(both);
  ASSERT_EQ(found->sink.frames.size(), expected_images->sink.frames.size());
  ASSERT_GT(found->sink.frames.size(), 12U);
  for (std::size_t i = 0; i < found->sink.frames.size(); ++i) {
    EXPECT_EQ(found->sink.frames[i].images, expected_images->sink.frames[i].images);
    EXPECT_EQ(found->sink.frames[i].frame.flags, expected_images->sink.frames[i].frame.flags);
  }
  ASSERT_EQ(found->sink.others.size(), (found->sink.frames.size() + 2) / 3);
  for (std::size_t i = 0; i < found->sink.others.size(); ++i) {
    const test::KeepingOutput::Other& late = found->sink.others[i];
    const test::KeptFrame& same = expected_velocity->sink.frames.at(3 * i);
    EXPECT_EQ(late.frame.processor, 1U);
    EXPECT_EQ(late.frame.sequence, same.frame.sequence);
    EXPECT_EQ(late.frame.first_bit_time, same.frame.first_bit_time);
    EXPECT_EQ(late.frame.flags, same.frame.flags);
    const auto images = values_of<std::complex<float>>(late.products.back());
    EXPECT_TRUE(std::equal(images.begin(), images.end(), same.images.begin(), same.images.end())) << "frame " << i;
  }
}

// Bins 2 and 3 of the window are whole in the band, and lines as well: its mean square is theirs.
TEST(LiveEngine, BandsAreImagedWithTheirWeighting) {
  Settings settings = test::small_settings();
  const double bin_hz = settings.array.clock_hz / static_cast<double>(kWindowBits);
  settings.front_end.frequencies_hz = {2.0 * bin_hz, 3.0 * bin_hz};
  settings.front_end.bands_hz = {{.low_hz = 1.5 * bin_hz, .high_hz = 3.5 * bin_hz}};
  settings.front_end.weighting = Weighting::kA;
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, 4 * kWindowBits);
  rig.run();
  ASSERT_GT(rig.sink.frames.size(), 8U);
  for (const test::KeptFrame& frame : rig.sink.frames) {
    const std::size_t pixels = frame.values.bands.size();
    ASSERT_EQ(frame.images.size(), 2 * pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
      double expected = 0.0;
      for (const std::size_t line : {std::size_t{0}, std::size_t{1}}) {
        const double gain = std::pow(10.0, weighting_db(Weighting::kA, settings.front_end.frequencies_hz[line]) / 10.0);
        const std::complex<double> value(frame.images[line * pixels + i]);
        expected += gain * 0.5 * std::norm(value) / 1.5;  // the Hann window's noise bandwidth
      }
      ASSERT_NEAR(static_cast<double>(frame.values.bands[i]), expected, 1e-5 * expected);
    }
  }
}

// Without images the first processor may be late: its windows have their times all the same, whether a frame of them is
// out or not, by which the daemon knows ages and sheds.
TEST(LiveEngine, WindowsOfALateFirstProcessorHaveTheirTimes) {
  Settings settings = test::small_settings();
  settings.holography.imager = ImagerKind::kNone;
  settings.processors = load_settings("", {"processors.far.kind=beamform", "processors.far.every_hops=3",
                                           "processors.far.grid.step_m=0.25"})
                            .processors;
  const LiveInput input = patient_input();
  IngestRing ring({.words_per_element = test::kSmallWords, .elements = 1U << 18U, .reorder_elements = 256});
  Publisher publisher;
  std::vector<FrameReport> reports;
  LiveHooks hooks;
  hooks.end = [&](const FrameReport& report) { reports.push_back(report); };
  LiveEngine engine(ring, input, make_epoch(settings, input, 1), publisher,
                    {.overload = settings.daemon->overload, .hooks = std::move(hooks)});
  publisher.begin(*engine.epoch().engine, 1);
  ring.begin_stream(3, 0);
  const std::vector<std::uint32_t> words(32 * 16 * 20 * test::kSmallWords, 0x3C5A96F1U);
  ring.store(0, std::as_bytes(std::span(words)), monotonic_ns());
  while (engine.step(0) == LiveEngine::Step::kFrames || !engine.is_streaming() || reports.empty()) {
  }
  ASSERT_GE(reports.size(), 12U);
  for (const FrameReport& report : reports) {
    EXPECT_GE(report.out_mono_ns, report.capture_mono_ns);
    EXPECT_GE(report.published_ns, 0);
    EXPECT_LT(report.others_ns, 60 * kNsPerSecond);
  }
}

// A new configuration comes between a late processor's beginning and its frame: that frame is of the old one, whole,
// and the next is at the next multiple of its cadence.
TEST(LiveEngine, ALateFrameIsOutBeforeTheNextConfiguration) {
  Settings settings = test::small_settings();
  settings.processors =
      load_settings("", {"processors.rows.kind=row_power", "processors.rows.every_hops=3"}).processors;
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  const std::uint64_t hop_bits = 32U * static_cast<std::uint64_t>(settings.front_end.hop_samples);
  rig.feed_noise(0, kWindowBits + 3 * hop_bits);
  rig.run();  // frames 0 to 3: the last one begins late work
  Settings next = settings;
  next.holography.upsample = 2;
  next.array.geometry = settings.array.geometry;
  rig.swap(make_epoch(next, patient_input(), 2));
  rig.feed_noise(kWindowBits + 3 * hop_bits, 6 * hop_bits);
  rig.run();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;  // sequence, epoch
  for (const test::KeepingOutput::Other& other : rig.sink.others) {
    found.emplace_back(other.frame.sequence, other.frame.epoch);
    EXPECT_EQ(other.products.at(0).size(), 8 * sizeof(float));
    EXPECT_EQ(other.frame.shed_hops, 0U);
  }
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {{0, 1}, {3, 1}, {6, 2}, {9, 2}};
  EXPECT_EQ(found, expected);
  ASSERT_EQ(rig.sink.frames.size(), 10U);
  EXPECT_EQ(rig.sink.frames.front().images.size(), 8U * 8U);
  EXPECT_EQ(rig.sink.frames.back().images.size(), 15U * 15U) << "from the first microphone to the last";
}

// Hops that are dropped stand in the next frame of each processor, once.
TEST(LiveEngine, EachProcessorCountsTheHopsBeforeItsFrames) {
  Settings settings = test::small_settings();
  settings.processors =
      load_settings("", {"processors.rows.kind=row_power", "processors.rows.every_hops=3"}).processors;
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, 2 * kWindowBits);
  rig.feed_noise(4 * kWindowBits, 3 * kWindowBits);  // windows of which nothing came are passed over
  rig.run();
  const auto shed_of = [](std::uint64_t sum, const auto& kept) { return sum + kept.frame.shed_hops; };
  const std::uint64_t shed = std::accumulate(rig.sink.frames.begin(), rig.sink.frames.end(), std::uint64_t{0}, shed_of);
  EXPECT_GT(shed, 0U);
  EXPECT_EQ(std::accumulate(rig.sink.others.begin(), rig.sink.others.end(), std::uint64_t{0}, shed_of), shed);
}

/// A front end of a processor's own, as a configuration has it, and the run's that gives the same spectra.
struct OwnFrontEnd {
  const char* name;
  std::vector<std::string> lines;
  FrontEndSettings same;
  int every_hops;
  friend std::ostream& operator<<(std::ostream& out, const OwnFrontEnd& own) { return out << own.name; }
};

FrontEndSettings front_end_with(FrontEndSettings settings, const char* kind, int window_samples, double frequency_hz,
                                Incremental incremental) {
  settings.kind = kind;
  settings.window_samples = window_samples;
  settings.frequencies_hz = {frequency_hz};
  settings.incremental = incremental;
  return settings;
}

class OwnFrontEndTest : public testing::TestWithParam<OwnFrontEnd> {};

const FrontEndSettings kRun = test::small_settings().front_end;
constexpr double kBin_hz = 46875.0 / 256;
INSTANTIATE_TEST_SUITE_P(
    , OwnFrontEndTest,
    testing::Values(OwnFrontEnd{"longer_and_late",
                                {"window_samples=256", "frequencies_hz=[2000]"},
                                front_end_with(kRun, "popcount", 256, 2000.0, Incremental::kNever),
                                3},
                    OwnFrontEnd{"longer_at_every_hop",
                                {"window_samples=256", "frequencies_hz=[2000]"},
                                front_end_with(kRun, "popcount", 256, 2000.0, Incremental::kAuto),
                                1},
                    OwnFrontEnd{"shorter_and_late",
                                {"window_samples=64", "frequencies_hz=[3000]"},
                                front_end_with(kRun, "popcount", 64, 3000.0, Incremental::kNever),
                                2},
                    OwnFrontEnd{"of_decimated_samples",
                                {"kind=decimated_fft", "window_samples=256", "frequencies_hz=[1831.0547]"},
                                front_end_with(kRun, "decimated_fft", 256, 10.0 * kBin_hz, Incremental::kNever),
                                3},
                    OwnFrontEnd{"dot_product_at_every_hop",
                                {"kind=dot_product", "frequencies_hz=[2500]"},
                                front_end_with(kRun, "dot_product", 128, 2500.0, Incremental::kAuto),
                                1}),
    [](const auto& one) { return one.param.name; });

std::unique_ptr<Rig> run_of(const Settings& settings, bool has_gap) {
  auto rig = std::make_unique<Rig>(settings, 1U << 18U, patient_input());
  rig->ring.begin_stream(3, 0);
  rig->feed_noise(0, 40 * kHopBits);
  if (has_gap) {
    rig->feed_noise(90 * kHopBits + 7 * kSampleBits, 60 * kHopBits);
  }
  rig->run();
  return rig;
}

/// Whatever front end a processor has of its own, its frames are those that it would make with this front end as the
/// run's, and the frames of the first processor are as without it: also behind a gap.
void expect_own_frames(const OwnFrontEnd& own, bool has_gap) {
  const Settings alone = test::small_settings();
  Settings with = alone;
  std::vector<std::string> lines = {"processors.far.kind=row_power",
                                    fmt::format("processors.far.every_hops={}", own.every_hops)};
  for (const std::string& line : own.lines) {
    lines.push_back("processors.far.front_end." + line);
  }
  with.processors = load_settings("", lines).processors;
  Settings same = alone;
  same.front_end = own.same;
  same.processors = load_settings("", {"processors.far.kind=row_power"}).processors;
  const auto expected_images = run_of(alone, has_gap);
  const auto expected = run_of(same, has_gap);
  const auto found = run_of(with, has_gap);
  ASSERT_EQ(found->sink.frames.size(), expected_images->sink.frames.size());
  for (std::size_t i = 0; i < found->sink.frames.size(); ++i) {
    EXPECT_EQ(found->sink.frames[i].images, expected_images->sink.frames[i].images);
    EXPECT_EQ(found->sink.frames[i].frame.flags, expected_images->sink.frames[i].frame.flags);
  }
  std::map<std::uint64_t, const test::KeepingOutput::Other*> by_bit_time;
  for (const test::KeepingOutput::Other& other : expected->sink.others) {
    by_bit_time[other.frame.first_bit_time] = &other;
  }
  std::size_t compared = 0;
  std::size_t behind_gap = 0;
  for (const test::KeepingOutput::Other& other : found->sink.others) {
    EXPECT_EQ(other.frame.window_bit_times, static_cast<std::uint64_t>(own.same.window_samples) * kSampleBits);
    if (!has_gap) {  // behind one, the next window is the processor's, whatever its number
      EXPECT_EQ(other.frame.sequence % static_cast<std::uint64_t>(own.every_hops), 0U);
    }
    const auto same_window = by_bit_time.find(other.frame.first_bit_time);
    if (same_window == by_bit_time.end()) {
      continue;  // of windows beside a gap, one run passes over more than the other
    }
    ++compared;
    behind_gap += other.frame.first_bit_time > 90 * kHopBits ? 1 : 0;
    const test::KeepingOutput::Other& one = *same_window->second;
    EXPECT_EQ(other.frame.timestamp_ns - other.frame.capture_tai_ns, one.frame.timestamp_ns - one.frame.capture_tai_ns);
    EXPECT_EQ(other.frame.missing_bit_times, one.frame.missing_bit_times);
    EXPECT_EQ(other.frame.flags & ~kFlagOverload, one.frame.flags & ~kFlagOverload);
    EXPECT_EQ(other.products, one.products) << "frame " << other.frame.sequence;
  }
  const auto windows = static_cast<std::size_t>((40 * 16 - std::max(128, own.same.window_samples)) / 16 + 1);
  EXPECT_EQ(behind_gap > 0, has_gap);
  EXPECT_GE(compared, windows / static_cast<std::size_t>(own.every_hops));
}

TEST_P(OwnFrontEndTest, GivesWhatItGivesAsTheRuns) { expect_own_frames(GetParam(), false); }

TEST_P(OwnFrontEndTest, GivesWhatItGivesAsTheRunsBehindAGap) { expect_own_frames(GetParam(), true); }

// Its first frame is the first one of its cadence that has the whole window, and what came before counts as nothing
// lost.
TEST(LiveEngine, ALongerWindowBeginsWhereItsBitsDo) {
  Settings settings = test::small_settings();
  settings.processors = load_settings("", {"processors.far.kind=row_power", "processors.far.every_hops=3",
                                           "processors.far.front_end.window_samples=256"})
                            .processors;
  const auto rig = run_of(settings, false);
  ASSERT_FALSE(rig->sink.others.empty());
  const Frame& first = rig->sink.others.front().frame;
  EXPECT_EQ(first.sequence, 9U);  // windows end at 128 + 16 n, from 256 on
  EXPECT_EQ(first.first_bit_time, (9 * 16 + 128 - 256) * kSampleBits);
  EXPECT_EQ(first.shed_hops, 0U);
}

/// Values of a column of a frame's only table.
std::vector<double> column_of(const Product& table, std::span<const std::byte> bytes, const std::string& name) {
  std::vector<double> values;
  const std::vector<ProductPlaces::Place> places = column_places(table);
  for (std::size_t c = 0; c < places.size(); ++c) {
    const auto all = complex_values_of(table.columns[c].type, bytes.subspan(places[c].offset, places[c].bytes));
    for (std::size_t row = 0; table.columns[c].name == name && row < rows_of(bytes); ++row) {
      values.push_back(all[row].real());
    }
  }
  return values;
}

// The bins of its band by a front end of its own, at every eighth hop, beside images at every hop, which are as without
// it; behind a gap, too, where its tracks go by the time that has passed.
TEST(LiveEngine, SourcesComeBesideImages) {
  const Settings alone = test::small_settings();
  Settings with = alone;
  with.processors = load_settings("", {"processors.where.kind=srp_phat", "processors.where.every_hops=8",
                                       "processors.where.band_hz=[1000,6000]", "processors.where.grid.step_m=0.25",
                                       "processors.where.significance=0", "processors.where.tracks.confirm=[1,1]",
                                       "processors.where.front_end.window_samples=256"})
                        .processors;
  const auto expected_images = run_of(alone, true);
  const auto found = run_of(with, true);
  ASSERT_EQ(found->sink.frames.size(), expected_images->sink.frames.size());
  for (std::size_t i = 0; i < found->sink.frames.size(); ++i) {
    EXPECT_EQ(found->sink.frames[i].images, expected_images->sink.frames[i].images);
  }
  const auto engine = make_epoch(with, patient_input(), 1);
  const Product table = engine->engine->header(1).products.at(0);
  ASSERT_GE(found->sink.others.size(), 5U);
  for (const test::KeepingOutput::Other& other : found->sink.others) {
    const std::vector<double> times = column_of(table, other.products.at(0), "first_bit_time");
    const std::vector<double> states = column_of(table, other.products.at(0), "state");
    ASSERT_GE(times.size(), 1U);
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (states[row] != 4.0) {  // the others were seen before
        EXPECT_EQ(times[row], static_cast<double>(other.frame.first_bit_time));
      } else {
        EXPECT_LT(times[row], static_cast<double>(other.frame.first_bit_time));
      }
    }
    EXPECT_EQ(other.products.at(1).size(), 25 * sizeof(float));
  }
}

// Of listen's frames a longer cadence makes longer ones.
TEST(LiveEngine, AProcessorTooSlowForItsCadenceIsNamed) {
  EnginePlan plan;
  plan.settings = test::small_settings();
  plan.sample_rate_hz = 46875.0;
  plan.settings.processors =
      load_settings("", {"processors.far.kind=beamform", "processors.far.every_hops=2", "processors.ear.kind=listen",
                         "processors.ear.every_hops=4", "processors.rows.kind=row_power"})
          .processors;
  const std::vector<double> slow_s = {1.0, 7.1e-3, 2e-3, 1.0};
  std::vector<std::string> found = cadence_warnings(plan, slow_s, 0.5e-3);
  std::ranges::sort(found);
  EXPECT_THAT(found,
              testing::ElementsAre(
                  "processors.far: a frame of silence took 7.1 ms on this device, and every_hops: 2 leaves 1 ms: "
                  "hops will be dropped. every_hops: 15 leaves enough; a smaller grid takes less"));
  const std::vector<double> slower_s = {1.0, 0.9e-3, 2.1e-3, 1.0};
  EXPECT_THAT(cadence_warnings(plan, slower_s, 0.5e-3),
              testing::ElementsAre(
                  "processors.ear: a frame of silence took 2.1 ms on this device, and every_hops: 4 leaves 2 ms: hops "
                  "will be dropped. Fewer beams or microphones take less"));
}

// Windows that are computed together: of the first batch, some begin before the stream for the longer window.
TEST(LiveEngine, ALongerWindowInBatchesIsThatOfOneByOne) {
  Settings settings = test::small_settings();
  settings.processors =
      load_settings("", {"processors.far.kind=row_power", "processors.far.every_hops=2",
                         "processors.far.front_end.window_samples=192", "processors.near.kind=row_power",
                         "processors.near.front_end.window_samples=192"})
          .processors;
  settings.front_end.incremental = Incremental::kNever;
  const auto one_by_one = run_of(settings, false);
  settings.device.batch = 6;  // windows end at 128 + 16 n, the longer ones from 192 on: four of the first six
  const auto batches = run_of(settings, false);
  ASSERT_EQ(batches->sink.others.size(), one_by_one->sink.others.size());
  const auto sorted = [](const std::vector<test::KeepingOutput::Other>& others) {
    std::map<std::pair<std::size_t, std::uint64_t>, const test::KeepingOutput::Other*> by_sequence;
    for (const test::KeepingOutput::Other& other : others) {
      by_sequence[{other.frame.processor, other.frame.sequence}] = &other;
    }
    return by_sequence;
  };
  const auto expected = sorted(one_by_one->sink.others);
  EXPECT_EQ(expected.size(), one_by_one->sink.others.size());
  for (const auto& [key, other] : sorted(batches->sink.others)) {
    ASSERT_TRUE(expected.contains(key)) << key.first << ", " << key.second;
    const test::KeepingOutput::Other& same = *expected.at(key);
    EXPECT_EQ(other->frame.first_bit_time, same.frame.first_bit_time);
    const auto values = values_of<float>(other->products.front());
    const auto expected_values = values_of<float>(same.products.front());
    ASSERT_EQ(values.size(), expected_values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(values[i], expected_values[i], 1e-4F * expected_values[i]) << "sums in another order";
    }
  }
}

// A swap to a window that reaches back over losses which the engine before had passed: they count for it.
TEST(LiveEngine, LossesBeforeASwapCountForALongerWindow) {
  Settings settings = test::small_settings();
  Settings next = settings;
  next.processors =
      load_settings("", {"processors.far.kind=row_power", "processors.far.front_end.window_samples=512"}).processors;
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, 30 * kHopBits);
  rig.feed_noise(30 * kHopBits + 100, 20 * kHopBits - 100);  // the first hundred never come
  rig.run();
  const std::size_t before = rig.sink.frames.size();
  rig.swap(make_epoch(next, patient_input(), 2));
  rig.feed_noise(50 * kHopBits, 20 * kHopBits);
  rig.run();
  ASSERT_GT(rig.sink.frames.size(), before);
  ASSERT_FALSE(rig.sink.others.empty());
  std::size_t with_losses = 0;
  for (const test::KeepingOutput::Other& other : rig.sink.others) {
    const std::uint64_t first = other.frame.first_bit_time;
    const bool has_gap = first <= 30 * kHopBits && first + other.frame.window_bit_times >= 30 * kHopBits + 100;
    EXPECT_EQ(other.frame.missing_bit_times, has_gap ? 100U : 0U) << first;
    EXPECT_EQ((other.frame.flags & kFlagMissingBits) != 0, has_gap) << first;
    with_losses += has_gap ? 1 : 0;
  }
  EXPECT_GT(with_losses, 0U);
}

// Another configuration with the same processor: what its longer window needs comes from the ring once more, and no
// hop of its cadence is lost.
TEST(LiveEngine, ALongerWindowGoesOnThroughASwap) {
  Settings settings = test::small_settings();
  settings.processors = load_settings("", {"processors.far.kind=row_power", "processors.far.every_hops=3",
                                           "processors.far.front_end.window_samples=256"})
                            .processors;
  Rig rig(settings, 1U << 18U, patient_input());
  rig.ring.begin_stream(3, 0);
  rig.feed_noise(0, 30 * kHopBits);
  rig.run();
  Settings next = settings;
  next.holography.upsample = 2;
  rig.swap(make_epoch(next, patient_input(), 2));
  rig.feed_noise(30 * kHopBits, 20 * kHopBits);
  rig.run();
  const auto whole = run_of(settings, false);
  ASSERT_GT(rig.sink.others.size(), 10U);
  for (std::size_t i = 0; i < std::min(rig.sink.others.size(), whole->sink.others.size()); ++i) {
    const test::KeepingOutput::Other& one = rig.sink.others[i];
    EXPECT_EQ(one.frame.sequence, 9 + 3 * i);
    EXPECT_EQ(one.frame.shed_hops, 0U);
    EXPECT_EQ(one.products, whole->sink.others[i].products) << "frame " << i;
  }
}

// Messages name the keys of the processor.
TEST(LiveEngine, AnOwnFrontEndThatCannotRunNamesItsKeys) {
  Settings settings = test::small_settings();
  settings.front_end.kind = "decimated_fft";
  settings.processors = load_settings("", {"processors.far.kind=row_power", "processors.far.front_end.kind=popcount",
                                           "processors.far.front_end.popcount_order=1"})
                            .processors;
  LiveInput samples = patient_input();
  samples.form = InputForm::kSamples;
  samples.elements_per_sample = 1;
  samples.words_per_element = 64;
  samples.element_rate_hz = 46875.0;
  try {
    make_epoch(settings, samples, 1);
    FAIL() << "expected a refusal";
  } catch (const ConfigError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("processors.far.front_end.kind: popcount")) << error.what();
  }
}

}  // namespace
}  // namespace nearfield::daemon
