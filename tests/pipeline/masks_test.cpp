#include "pipeline/masks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_format.hpp"
#include "pipeline/replay.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/outputs.hpp"
#include "support/recordings.hpp"

/// Microphones that are masked as they are found bad: one replay against its parts, to the last bit.
namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kFrames = 200;
constexpr std::uint64_t kFailsAt = 50;
constexpr int kBad = 27;

/// A monopole and noise; microphone kBad has noise alone from frame kFailsAt on.
std::string spectra_in(const test::TemporaryFolder& folder) {
  SpectraFile file = test::monopole_spectra(kFrames, {1000.0, 2000.0});
  std::mt19937 generator(5U);
  std::normal_distribution<float> noise(0.0F, 0.01F);
  for (std::size_t i = 0; i < file.spectra.size(); ++i) {
    const bool fails = i % 64 == kBad && i / 128 >= kFailsAt;
    file.spectra[i] =
        (fails ? std::complex<float>() : file.spectra[i]) + std::complex<float>(noise(generator), noise(generator));
  }
  write_spectra(folder / "spectra.h5", file);
  return folder / "spectra.h5";
}

ReplayOptions options_of(const std::string& path) {
  ReplayOptions options;
  options.input = path;
  options.settings.front_end.frequencies_hz = {1000.0, 2000.0};
  options.settings.holography.search_every_frames = 0;
  return options;
}

class KeepsMasks : public test::KeepingOutput {
 public:
  void mask(const MaskChange& change) override { masks.push_back(change); }
  MaskChanges masks;
};

struct Replayed {
  std::vector<ImageFrame> images;
  std::vector<std::uint32_t> valid;
  MaskChanges masks;
  ReplayResult result;
};

Replayed run_of(const ReplayOptions& options, std::size_t parts = 1) {
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<KeepsMasks>());
  std::vector<ReplayPart> all;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto open = [&options] { return open_recording(options.input, options.settings); };
    ReplayPart part{.recording = open(), .engine = nullptr, .reopen = open};
    part.engine = make_engine(options.engine, part.recording->plan());
    all.push_back(std::move(part));
  }
  Replayed run;
  run.result = replay(std::move(all), options, outputs);
  const auto& kept = dynamic_cast<const KeepsMasks&>(*outputs.front());
  run.images = kept.images();
  run.masks = kept.masks;
  for (const test::KeptFrame& frame : kept.frames) {
    run.valid.push_back(frame.frame.valid_microphones);
  }
  return run;
}

void expect_same(const Replayed& found, const Replayed& expected, std::size_t skipped = 0) {
  ASSERT_EQ(found.images.size() + skipped, expected.images.size());
  for (std::size_t i = 0; i < found.images.size(); ++i) {
    ASSERT_EQ(found.images[i].images, expected.images[i + skipped].images) << i;
    ASSERT_EQ(found.valid[i], expected.valid[i + skipped]) << i;
  }
}

std::string written(const test::TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / "masks.json") << text;
  return folder / "masks.json";
}

TEST(Masks, OfAReplayBeginAtTheSameFrameWhateverItsBatch) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(spectra_in(folder));
  const Replayed one = run_of(options);
  ASSERT_EQ(one.masks.size(), 1U);
  EXPECT_THAT(one.masks.front().channels, ElementsAre(kBad));
  const std::uint64_t from = one.masks.front().first_bit_time;
  EXPECT_GT(from, kFailsAt);
  ASSERT_LT(from, kFrames);
  EXPECT_EQ(one.valid.at(from - 1), 64U);
  EXPECT_EQ(one.valid.at(from), 63U);
  options.settings.device.batch = 8;
  expect_same(run_of(options), one);
  EXPECT_EQ(run_of(options).masks, one.masks);
}

TEST(Masks, OfFramesThatAreDealtOutAreThoseOfOneDevice) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(spectra_in(folder));
  const Replayed one = run_of(options);
  options.block_hops = 16;
  const Replayed dealt = run_of(options, 3);
  expect_same(dealt, one);
  EXPECT_EQ(dealt.masks, one.masks);
  EXPECT_EQ(dealt.result.bad_microphones, one.result.bad_microphones);
}

TEST(Masks, AreFoundWithoutImagesAndMakeAPartOfAReplayThatOfTheWhole) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(spectra_in(folder));
  const Replayed one = run_of(options);
  const MasksOfReplay masks = masks_of(options);
  EXPECT_EQ(masks.changes, one.masks);
  EXPECT_EQ(masks.bad_microphones, one.result.bad_microphones);
  EXPECT_TRUE(masks.is_whole);
  options.frames = {.first = 150, .end = kFrames};
  const Replayed alone = run_of(options);
  EXPECT_EQ(alone.valid.front(), 64U) << "a part by itself has found nothing yet";
  options.masks_file = written(folder, to_json(masks.changes, masks.microphones));
  const Replayed part = run_of(options);
  expect_same(part, one, 150);
  EXPECT_EQ(part.valid.front(), 63U);
}

// sonah predicts masked microphones by its prior from all others: whatever the batch, the number of devices and the
// part of a replay, from the same frame on and with the same bits.
TEST(Masks, OfSonahMakeBatchesAndPartsThoseOfTheWhole) {
  const test::TemporaryFolder folder;
  ReplayOptions options = options_of(spectra_in(folder));
  options.settings.holography.imager = ImagerKind::kSonah;
  const Replayed one = run_of(options);
  ASSERT_EQ(one.masks.size(), 1U);
  EXPECT_THAT(one.masks.front().channels, ElementsAre(kBad));
  const std::uint64_t from = one.masks.front().first_bit_time;
  ASSERT_LT(from, 140U) << "some frames are left of which noise's memories, 60 frames long, begin after the part does";
  ReplayOptions dealt = options;
  dealt.block_hops = 16;
  expect_same(run_of(dealt, 3), one);
  ReplayOptions batches = options;
  batches.settings.device.batch = 8;
  expect_same(run_of(batches), one);
  ReplayOptions masked = options;
  masked.masks_file = written(folder, to_json(one.masks, 64));
  masked.frames = {.first = 150, .end = kFrames};
  expect_same(run_of(masked), one, 150);
  // A mask of this microphone from the beginning: the images that had it are the same, those before are not.
  masked.masks_file = written(folder, to_json({{.first_bit_time = 0, .channels = {kBad}}}, 64));
  masked.frames = {};
  const Replayed always = run_of(masked);
  ASSERT_EQ(always.images.size(), one.images.size());
  EXPECT_NE(always.images[from - 1].images, one.images[from - 1].images);
  EXPECT_EQ(always.images.back().images, one.images.back().images);
}

// A hop is longer than the interval of the watch: each window is a batch of its own.
TEST(Masks, OfLongHopsAreFoundToo) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "c.h5", 32 * (64 + 4 * 2048));
  ReplayOptions options;
  options.input = folder / "c.h5";
  options.settings.front_end.window_samples = 64;
  options.settings.front_end.hop_samples = 2048;
  options.settings.front_end.frequencies_hz = {1464.84375};
  options.settings.holography.search_every_frames = 1;
  EXPECT_EQ(run_of(options).result.frames, 5U);
  EXPECT_TRUE(masks_of(options).is_whole);
}

// Fewer than six a side are not watched.
TEST(Masks, OfFewMicrophonesAreNone) {
  const test::TemporaryFolder folder;
  SpectraFile file = test::monopole_spectra(40, {1000.0});
  file.measurement.geometry = {.rows = 4, .columns = 16, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  write_spectra(folder / "few.h5", file);
  ReplayOptions options = options_of(folder / "few.h5");
  options.settings.front_end.frequencies_hz = {1000.0};
  const MasksOfReplay masks = masks_of(options);
  EXPECT_TRUE(masks.changes.empty() && masks.is_whole);
  EXPECT_EQ(masks.microphones, 64);
}

TEST(Masks, OfAFileAreRefusedWhereTheyAreNone) {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    try {
      (void)read_masks(written(folder, text), 64);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const MaskChanges changes = {{.first_bit_time = 3, .channels = {}}, {.first_bit_time = 90, .channels = {0, 63}}};
  EXPECT_EQ(read_masks(written(folder, to_json(changes, 64)), 64), changes);
  EXPECT_THAT(refusal(to_json(changes, 63)), HasSubstr("expected masks of 64 microphones, found 63"));
  EXPECT_THAT(refusal(to_json({{.first_bit_time = 3, .channels = {64}}}, 64)), HasSubstr("channels from 0 to 63"));
  EXPECT_THAT(refusal(to_json({{.first_bit_time = 3, .channels = {5, 5}}}, 64)), HasSubstr("each once"));
  EXPECT_THAT(refusal(to_json({changes[1], changes[0]}, 64)), HasSubstr("ascending order, found 3 behind 90"));
  const auto of_change = [](const std::string& first_bit_time, const std::string& channels) {
    return R"({"microphones": 64, "masks": [{"first_bit_time": )" + first_bit_time + R"(, "channels": )" + channels +
           "}]}";
  };
  for (const char* const number : {"-1", "1.5", "true", "18446744073709551616", "null"}) {
    EXPECT_THAT(refusal(of_change(number, "[]")), HasSubstr("an integer for first_bit_time")) << number;
  }
  for (const char* const channels : {"[4294967299]", "[1.9]", "[true]", "[-4294967295]"}) {
    EXPECT_THAT(refusal(of_change("0", channels)), HasSubstr("an integer for channels")) << channels;
  }
  EXPECT_THAT(refusal(of_change("0", "null")), HasSubstr("a list for channels"));
  EXPECT_THAT(refusal(R"({"microphones": 64, "masks": null})"), HasSubstr("a list for masks"));
  EXPECT_THROW((void)read_masks(folder / "", 64), NoInputError) << "a folder";
  EXPECT_EQ(refusal(of_change("18446744073709551615", "[1]")), "") << "the end of all streams";
  EXPECT_THAT(refusal("version: 1"), HasSubstr("as nearfield masks writes them"));
  EXPECT_THAT(refusal(""), HasSubstr("as nearfield masks writes them"));
  EXPECT_THROW((void)read_masks(folder / "none.json", 64), NoInputError);
  ReplayOptions options = options_of(spectra_in(folder));
  options.masks_file = folder / "none.json";
  EXPECT_THROW(run_of(options), NoInputError);
  MaskChange most;
  for (int channel = 0; channel <= 64 / 2; ++channel) {
    most.channels.push_back(channel);
  }
  options.masks_file = written(folder, to_json({most}, 64));
  EXPECT_THROW(run_of(options), DataError) << "more than an engine has room for";
  options.masks_file = written(folder, to_json({{.first_bit_time = ~std::uint64_t{0}, .channels = {1}}}, 64));
  EXPECT_EQ(run_of(options).valid, std::vector<std::uint32_t>(kFrames, 64));
  options.settings.array.health.mask = HealthMask::kNone;
  EXPECT_THROW(run_of(options), UsageError) << "the settings mask nothing";
}

TEST(MaskSchedule, CutsBatchesWhereAMaskChanges) {
  MaskSchedule schedule;
  EXPECT_EQ(schedule.together(7, 5, 10), 5U);
  schedule.add(35, {1});
  schedule.add(70, {1, 2});
  EXPECT_TRUE(schedule.at(34).empty());
  EXPECT_THAT(schedule.at(35), ElementsAre(1));
  EXPECT_THAT(schedule.at(1000), ElementsAre(1, 2));
  EXPECT_EQ(schedule.together(0, 9, 10), 4U) << "windows at 0, 10, 20 and 30";
  EXPECT_EQ(schedule.together(35, 9, 10), 4U) << "at 35, 45, 55 and 65";
  EXPECT_EQ(schedule.together(80, 9, 10), 9U);
  schedule.add(~std::uint64_t{0}, {});
  EXPECT_EQ(schedule.together(80, 9, 10), 9U) << "what lies far ahead does not overflow";
  schedule.forget_before(40);
  EXPECT_THAT(schedule.at(40), ElementsAre(1));
  EXPECT_TRUE(schedule.at(34).empty());
}

}  // namespace
}  // namespace nearfield
