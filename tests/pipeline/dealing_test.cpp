#include "pipeline/dealing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "config/config.hpp"
#include "config/schema/front_end_kinds.hpp"
#include "core/error.hpp"
#include "files/files.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/outputs.hpp"
#include "support/recordings.hpp"

/// A replay that is dealt out to several engines gives the frames of one, in their order, to the last bit.
namespace nearfield {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kHop = 16;
constexpr std::uint64_t kWindow = 64;
constexpr std::uint64_t kHops = 220;
constexpr std::uint64_t kBitTimes = (kHop * kHops + kWindow) * kBitsPerWord;

std::string capture_in(const test::TemporaryFolder& folder) {
  CaptureInfo info;
  info.measurement = {.geometry = test::small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.words_per_bit_time = 2;
  CaptureWriter writer(folder / "capture.h5", info);
  writer.append(test::unsteady_bits(kBitTimes, kHop * kBitsPerWord));
  writer.finish();
  return folder / "capture.h5";
}

ReplayOptions options_of(const std::string& path, const std::string& front_end = "popcount") {
  ReplayOptions options;
  options.input = path;
  options.settings.array.health.mask = HealthMask::kNone;
  options.settings.front_end.kind = front_end;
  options.settings.front_end.window_samples = static_cast<int>(kWindow);
  options.settings.front_end.hop_samples = static_cast<int>(kHop);
  options.settings.front_end.frequencies_hz = {1464.84375};
  options.settings.holography.search_every_frames = 0;
  return options;
}

std::vector<ReplayPart> parts_of(const ReplayOptions& options, std::size_t count) {
  std::vector<ReplayPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto open = [&options] { return open_recording(options.input, options.settings); };
    ReplayPart part{.recording = open(), .engine = nullptr, .reopen = open};
    part.engine = make_engine(options.engine, part.recording->plan());
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Everything that outputs get of every processor, in its order.
class AllFrames : public Output {
 public:
  struct Kept {
    Frame frame;  ///< without products
    std::vector<std::vector<std::byte>> products;
  };
  explicit AllFrames(std::vector<Kept>& kept, bool& is_finished) : kept_(kept), is_finished_(is_finished) {}
  void begin(const ResultHeader& /*header*/, const Beginning& /*beginning*/) override {}
  void write(const Frame& frame) override {
    kept_.push_back({.frame = frame, .products = {}});
    for (const std::span<const std::byte> product : frame.products) {
      kept_.back().products.emplace_back(product.begin(), product.end());
    }
    kept_.back().frame.products = {};
  }
  void finish() override { is_finished_ = true; }

 private:
  std::vector<Kept>& kept_;
  bool& is_finished_;
};

struct Outcome {
  std::vector<AllFrames::Kept> frames;
  bool is_finished = false;
  ReplayResult result;
  std::string error;
  ExitCode exit_code = ExitCode::kOk;
  std::vector<std::uint64_t> progress;
};

Outcome run_of(ReplayOptions options, std::size_t parts) {
  Outcome run;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<AllFrames>(run.frames, run.is_finished));
  options.progress = [&](std::uint64_t done, std::uint64_t /*of*/) { run.progress.push_back(done); };
  try {
    run.result = replay(parts_of(options, parts), options, outputs);
  } catch (const Error& error) {
    run.error = error.what();
    run.exit_code = error.exit_code();
  }
  return run;
}

void expect_same(const Outcome& found, const Outcome& expected) {
  ASSERT_EQ(found.frames.size(), expected.frames.size());
  for (std::size_t i = 0; i < expected.frames.size(); ++i) {
    const Frame& a = found.frames[i].frame;
    const Frame& b = expected.frames[i].frame;
    ASSERT_EQ(a.sequence, b.sequence) << i;
    ASSERT_EQ(a.processor, b.processor) << i;
    EXPECT_EQ(a.first_bit_time, b.first_bit_time) << i;
    EXPECT_EQ(a.timestamp_ns, b.timestamp_ns) << i;
    EXPECT_EQ(a.flags, b.flags) << i;
    EXPECT_EQ(a.missing_bit_times, b.missing_bit_times) << i;
    EXPECT_EQ(a.valid_microphones, b.valid_microphones) << i;
    EXPECT_EQ(found.frames[i].products, expected.frames[i].products) << "frame " << a.sequence << " of " << a.processor;
  }
  EXPECT_EQ(found.result.frames, expected.result.frames);
  EXPECT_EQ(found.result.flags, expected.result.flags);
  EXPECT_EQ(found.result.bad_microphones, expected.result.bad_microphones);
  EXPECT_EQ(found.error, expected.error);
  EXPECT_EQ(found.exit_code, expected.exit_code);
  EXPECT_EQ(found.is_finished, expected.is_finished);
  EXPECT_EQ(found.progress, expected.progress) << "frames are counted as they are written, in their order";
}

class DealtReplay : public testing::TestWithParam<std::string> {};
std::vector<std::string> front_ends() {
  std::vector<std::string> names;
  for (const schema::FrontEndKind& kind : schema::front_end_kinds()) {
    names.emplace_back(kind.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(, DealtReplay, testing::ValuesIn(front_ends()), [](const auto& kind) { return kind.param; });

// Blocks shorter and longer than the memory of 60 hops, so that a part goes on from its last block, or begins anew; a
// processor with a longer window and a cadence beside the first one.
TEST_P(DealtReplay, GivesTheFramesOfOnePart) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder), GetParam());
  options.settings.processors =
      load_settings("", {"processors.far.kind=row_power", "processors.far.every_hops=3",
                         "processors.far.front_end.window_samples=256", "processors.near.kind=row_power"})
          .processors;
  const Outcome expected = run_of(options, 1);
  ASSERT_EQ(expected.result.frames, kHops + 1) << expected.error;
  ASSERT_TRUE(expected.is_finished);
  for (const std::uint64_t block_hops : {8U, 72U}) {
    options.block_hops = block_hops;
    expect_same(run_of(options, 3), expected);
  }
}

TEST(Dealing, GivesBatchesAndSonahAsOnePart) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.settings.device.batch = 4;
  options.frames = {.first = 5, .end = 190};
  options.block_hops = 64;
  expect_same(run_of(options, 2), run_of(options, 1));
  options.settings.holography.imager = ImagerKind::kSonah;
  expect_same(run_of(options, 2), run_of(options, 1));
  options.settings.holography.imager = ImagerKind::kPnah;
  options.settings.device.fft = "clfft";
  expect_same(run_of(options, 2), run_of(options, 1));
}

// What searches find depends on a bounded number of windows, which each block computes for itself.
TEST(Dealing, SearchesAsOnePart) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.settings.holography.search_every_frames = 2;
  options.settings.holography.imager = ImagerKind::kSonah;
  for (const std::uint64_t block_hops : {24U, 72U}) {
    options.block_hops = block_hops;
    expect_same(run_of(options, 2), run_of(options, 1));
  }
}

TEST(Dealing, EndsWithTheErrorOfOnePart) {
  const test::TemporaryFolder folder;
  SpectraFile file = test::monopole_spectra(60, {500.0});
  for (const std::size_t bad : {std::size_t{37}, std::size_t{50}}) {  // the first one counts
    for (std::size_t i = 0; i < 20; ++i) {
      file.spectra[bad * 64 + 3 * i] = {std::numeric_limits<float>::quiet_NaN(), 0.0F};
    }
  }
  write_spectra(folder / "spectra.h5", file);
  ReplayOptions options = options_of(folder / "spectra.h5");
  options.settings.front_end.frequencies_hz = {500.0};
  const Outcome expected = run_of(options, 1);
  EXPECT_THAT(expected.error, HasSubstr("frame 37: 20 of 64 microphones are not finite"));
  EXPECT_EQ(expected.frames.size(), 37U);
  options.block_hops = 10;
  expect_same(run_of(options, 3), expected);
}

// Spectra come to the watch frame by frame: what it finds does not depend on the parts.
TEST(Dealing, WatchesTheMicrophonesOfTheWholeRecording) {
  const test::TemporaryFolder folder;
  SpectraFile file = test::monopole_spectra(120, {500.0});
  for (std::size_t frame = 30; frame < file.frames; ++frame) {
    file.spectra[frame * 64 + 27] = 0.0F;
  }
  write_spectra(folder / "spectra.h5", file);
  ReplayOptions options = options_of(folder / "spectra.h5");
  options.settings.front_end.frequencies_hz = {500.0};
  const Outcome expected = run_of(options, 1);
  ASSERT_EQ(expected.result.bad_microphones.size(), 1U);
  options.block_hops = 10;
  expect_same(run_of(options, 3), expected);
}

TEST(Dealing, StopsWithoutFinishing) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.block_hops = 16;
  std::uint64_t asked = 0;
  options.stop = [&] { return ++asked > 5; };
  const Outcome run = run_of(options, 2);
  EXPECT_LT(run.result.frames, run.result.frames_asked);
  EXPECT_EQ(run.frames.size(), run.result.frames);
  EXPECT_FALSE(run.is_finished);
}

/// An output whose disk is full at its sixth frame.
class FullOutput : public Output {
 public:
  void begin(const ResultHeader& /*header*/, const Beginning& /*beginning*/) override {}
  void write(const Frame& /*frame*/) override {
    if (++frames_ > 5) {
      throw IoError("out.h5: no space left");
    }
  }

 private:
  int frames_ = 0;
};

TEST(Dealing, EndsWithTheErrorOfAnOutput) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.block_hops = 16;
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<FullOutput>());
  EXPECT_THROW(replay(parts_of(options, 3), options, outputs), IoError);
}

TEST(Dealing, RefusesWhatDependsOnAllFramesBefore) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.settings.processors =
      load_settings("", {"processors.far.kind=beamform", "processors.far.average.kind=exponential",
                         "processors.far.average.seconds=0.01", "processors.far.grid.kind=angles"})
          .processors;
  Outcome run = run_of(options, 2);
  EXPECT_EQ(run.exit_code, ExitCode::kUsage);
  EXPECT_THAT(run.error, testing::AllOf(HasSubstr("processors.far"), HasSubstr("average.kind: none"),
                                        HasSubstr("--allow-unbounded")));
  EXPECT_TRUE(run.frames.empty());
  options.is_unbounded_allowed = true;
  EXPECT_EQ(run_of(options, 2).result.frames, kHops + 1);
}

// Of one block nothing is lost: the last map of all has what its windows up to there say, as on one device.
TEST(Dealing, HasTheLastMapOfWhatDependsOnAllFramesBefore) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(capture_in(folder));
  options.settings.processors = load_settings("", {"processors.far.kind=beamform", "processors.far.method=clean_sc",
                                                   "processors.far.grid.kind=angles"})
                                    .processors;
  options.is_unbounded_allowed = true;
  options.block_hops = kHops + 1;
  expect_same(run_of(options, 2), run_of(options, 1));
}

// --- sizes -----------------------------------------------------------------------------------------------------------

TEST(DealingSizes, AreLongBesideWhatIsComputedBeforeAndShortBesideMemory) {
  constexpr std::uint64_t kMany = 1'000'000;
  for (const std::size_t frame_bytes : {std::size_t{100}, std::size_t{40'000}, std::size_t{200'000}}) {
    for (const std::uint64_t batch : {1U, 33U}) {
      const DealingSizes sizes = dealing_sizes(kMany, 2, 60, frame_bytes, batch);
      EXPECT_EQ(sizes.block_hops % batch, 0U);
      EXPECT_GE(sizes.block_hops, 16U * 60U) << "at most a sixteenth more frames are computed";
      EXPECT_LE(sizes.block_hops, 64U * 60U + batch);
      EXPECT_LE(sizes.block_hops * frame_bytes, (std::size_t{256} << 20U) + batch * frame_bytes);
      const std::uint64_t blocks = (kMany + sizes.block_hops - 1) / sizes.block_hops;
      EXPECT_LE((blocks + 1) / 2 * 2 * sizes.block_hops - kMany, 2 * sizes.block_hops) << "no part has a block more";
    }
  }
  EXPECT_EQ(dealing_sizes(kMany, 2, 60, 2'000'000, 1).block_hops, 536U) << "1 GiB, less than 16 times the memory";
  EXPECT_EQ(dealing_sizes(100, 4, 60, 1000, 1).block_hops, 960U) << "a short recording is one block";
  EXPECT_EQ(dealing_sizes(6000, 2, 60, 1000, 1).block_hops, 3000U) << "two halves";
  EXPECT_EQ(dealing_sizes(10'000, 2, 60, 1000, 1).block_hops, 2500U) << "two blocks a part";
}

}  // namespace
}  // namespace nearfield
