#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "files/files.hpp"
#include "files/nfr/nfr_convert.hpp"
#include "files/results_file.hpp"
#include "pipeline/microphones/microphone_statistics.hpp"
#include "pipeline/recording.hpp"
#include "pipeline/replay.hpp"
#include "recording/recorder.hpp"
#include "recording/recording_support.hpp"
#include "support/h5_values.hpp"
#include "support/images.hpp"

namespace nearfield::test {
namespace {

constexpr std::uint64_t kFirst = 1'000'003;  // odd, and no multiple of 32

/// Bits with a gap of 700 bit-times, and images of epoch 1.
std::string record(const TemporaryFolder& folder) {
  RecorderOptions options;
  options.settings.pre_trigger_s = 0.0;
  options.info = small_info();
  options.path = folder / "a.nfr";
  Recorder recorder(options);
  recorder.begin(result_header(small_header()), {.epoch = 1});
  recorder.start();
  recorder.wait_for_requests();
  push_bits(recorder, kFirst, 2000);
  push_bits(recorder, kFirst + 2700, 4000, {{kFirst + 3000, 50}});
  for (std::uint64_t hop = 0; hop < 5; ++hop) {
    recorder.write(TestFrame(hop).frame);
  }
  recorder.stop();
  recorder.wait_for_requests();
  return recorder.status().path;
}

TEST(Convert, BitsComeBackTheSame) {
  const TemporaryFolder folder;
  const std::string path = record(folder);
  EXPECT_EQ(detect_file_kind(path), FileKind::kRecording);
  nfr::Reader reader{std::filesystem::path(path)};
  const nfr::ConvertedBits result = nfr::convert_bits(reader, folder / "bits.h5", {}, {});
  EXPECT_EQ(result.bit_times, 6700U);
  EXPECT_EQ(result.missing_bit_times, 750U);
  EXPECT_EQ(result.runs, 2U);
  const CaptureReader capture(folder / "bits.h5");
  EXPECT_EQ(capture.info().first_bit_time, kFirst);
  EXPECT_EQ(capture.info().bit_times, 6700U);
  EXPECT_EQ(capture.info().measurement.standoff_m, 0.04);
  EXPECT_NEAR(static_cast<double>(capture.info().start_time_ns), static_cast<double>(kFirst) / 1.5e6 * 1e9, 2.0);
  std::vector<std::uint32_t> expected = words_of(kFirst, 6700);
  make_silent(expected, kFirst, {kFirst + 2000, 700});
  make_silent(expected, kFirst, {kFirst + 3000, 50});
  std::vector<std::uint32_t> words(6700 * kWords);
  capture.read(0, words);
  EXPECT_EQ(words, expected);
  const std::vector<MissingRun> missing = capture.missing();
  ASSERT_EQ(missing.size(), 2U);
  EXPECT_EQ(missing[0].first_bit_time, 2000U);
  EXPECT_EQ(missing[0].bit_times, 700U);
  EXPECT_EQ(missing[1].first_bit_time, 3000U);
}

TEST(Convert, PartOfTheBits) {
  const TemporaryFolder folder;
  nfr::Reader reader{std::filesystem::path(record(folder))};
  const nfr::ConvertedBits result =
      nfr::convert_bits(reader, folder / "bits.h5", {.from = kFirst + 1900, .to = kFirst + 2050}, {});
  EXPECT_EQ(result.bit_times, 150U);
  EXPECT_EQ(result.missing_bit_times, 50U);
  const CaptureReader capture(folder / "bits.h5");
  EXPECT_EQ(capture.missing()[0].first_bit_time, 100U);
  EXPECT_THROW(nfr::convert_bits(reader, folder / "none.h5", {.from = 0, .to = 10}, {}), DataError);
}

TEST(Convert, ImagesComeBackTheSame) {
  const TemporaryFolder folder;
  const nfr::Reader reader{std::filesystem::path(record(folder))};
  const nfr::ConvertedFrames result =
      nfr::convert_frames(reader, folder / "images.h5", {}, {.from = 1, .to = std::nullopt}, {});
  EXPECT_EQ(result.frames, 4U);
  EXPECT_EQ(result.damaged, 0U);
  const double first_s = read_values<double>(folder / "images.h5", "/time").at(0);
  const ImagesReader images(folder / "images.h5");
  ASSERT_EQ(images.frames(), 4U);
  EXPECT_EQ(images.header().config, small_header().config);
  EXPECT_EQ(images.header().y_m, small_header().y_m);
  // Times count from the recording's first bit.
  EXPECT_NEAR(first_s, 1e-9 * static_cast<double>(images.read(0).timestamp_ns - reader.capture_info().start_time_ns),
              1e-9);
  for (std::uint64_t hop = 1; hop < 5; ++hop) {
    const TestFrame expected(hop);
    const ImageFrame frame = images.read(hop - 1);
    EXPECT_EQ(frame.first_sample, hop * 1024);
    EXPECT_EQ(frame.missing_bits, hop % 2);
    EXPECT_EQ(frame.flags, expected.frame.flags);
    EXPECT_TRUE(std::equal(frame.images.begin(), frame.images.end(), expected.images.images.begin()));
    EXPECT_EQ(frame.error_estimate[1], 0.04F);
    ASSERT_EQ(frame.points.size(), 4U);
    EXPECT_TRUE(std::equal(frame.points.begin(), frame.points.end(), expected.images.points.begin()));
  }
  EXPECT_THROW(nfr::convert_frames(reader, folder / "none.h5", {.processor = {}, .epoch = 7}, {}, {}), DataError);
}

std::string message_of_convert(const nfr::Reader& reader, const std::string& output, const nfr::FramesChoice& choice) {
  try {
    (void)nfr::convert_frames(reader, output, choice, {}, {});
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Convert, TheProcessorIsChosenByName) {
  const TemporaryFolder folder;
  ImagesHeader second = small_header();
  second.processor = "deep";
  FileBuilder file;
  file.add_epoch({.epoch = 1, .processor = 1, .header = rows_header()});
  file.add_epoch({.epoch = 1, .processor = 0, .header = result_header(small_header())});
  file.add_epoch({.epoch = 1, .processor = 2, .header = result_header(second)});
  file.add_frame(RowsFrame(0).frame);
  file.add_frame(TestFrame(0).frame);
  TestFrame deep(1, 8.0F);
  deep.frame.processor = 2;
  file.add_frame(deep.frame);
  const nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  const std::string output = folder / "images.h5";
  EXPECT_EQ(nfr::convert_frames(reader, output, {}, {}, {}).frames, 1U);
  EXPECT_EQ(ImagesReader(output).read(0).images, TestFrame(0).images.images);
  EXPECT_EQ(nfr::convert_frames(reader, output, {.processor = "deep", .epoch = {}}, {}, {}).frames, 1U);
  EXPECT_EQ(ImagesReader(output).read(0).images, deep.images.images);
  EXPECT_EQ(nfr::convert_frames(reader, output, {.processor = "rows", .epoch = {}}, {}, {}).frames, 1U);
  const ResultFrame rows = ResultsReader(output).read(0, 0);
  ASSERT_EQ(rows.frame.products.size(), 2U);
  EXPECT_TRUE(
      std::equal(rows.frame.products[0].begin(), rows.frame.products[0].end(), RowsFrame(0).frame.products[0].begin()));
  std::filesystem::remove(output);
  EXPECT_NE(message_of_convert(reader, output, {.processor = "none", .epoch = {}}).find("deep, rows, surface"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(output));
}

std::vector<ImageFrame> replayed(const std::string& path) {
  ReplayOptions options;
  options.input = path;
  options.engine = EngineKind::kReference;
  options.settings.front_end.window_samples = 32;  // 1024 bit-times
  options.settings.front_end.hop_samples = 8;
  options.settings.front_end.frequencies_hz = {3000.0};
  options.settings.front_end.kind = "popcount";
  std::vector<std::unique_ptr<Output>> outputs;
  outputs.push_back(std::make_unique<KeepingOutput>());
  (void)replay(options, outputs);
  return dynamic_cast<KeepingOutput&>(*outputs.front()).images();
}

TEST(Convert, ARecordingReplaysAsItsCapture) {
  const TemporaryFolder folder;
  const std::string path = record(folder);
  nfr::Reader reader{std::filesystem::path(path)};
  (void)nfr::convert_bits(reader, folder / "bits.h5", {}, {});
  const std::vector<ImageFrame> recorded = replayed(path);
  const std::vector<ImageFrame> converted = replayed(folder / "bits.h5");
  constexpr std::uint64_t kBegin = (kFirst + 255) / 256 * 256;  // of the first whole hop of the stream
  ASSERT_EQ(recorded.size(), ((kFirst + 6700 - kBegin) / 32 - 32) / 8 + 1);
  ASSERT_EQ(converted.size(), recorded.size());
  const auto is_gappy = [](const ImageFrame& frame) { return frame.missing_bits > 0; };
  EXPECT_TRUE(std::any_of(recorded.begin(), recorded.end(), is_gappy));
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    EXPECT_EQ((recorded[i].flags & kFlagMissingBits) != 0, is_gappy(recorded[i])) << "frame " << i;
    const std::uint64_t first = kBegin + i * 256;
    EXPECT_EQ(recorded[i].first_sample, first);
    EXPECT_EQ(converted[i].first_sample, first);
    EXPECT_EQ(converted[i].timestamp_ns, recorded[i].timestamp_ns);
    std::uint64_t missing = 0;
    for (const MissingRun run : {MissingRun{kFirst + 2000, 700}, MissingRun{kFirst + 3000, 50}}) {
      const std::uint64_t from = std::max(first, run.first_bit_time);
      const std::uint64_t to = std::min(first + 1024, run.first_bit_time + run.bit_times);
      missing += to > from ? to - from : 0;
    }
    EXPECT_EQ(recorded[i].missing_bits, missing) << i;
    EXPECT_EQ(converted[i].missing_bits, missing) << i;
    EXPECT_EQ((recorded[i].flags & kFlagMissingBits) != 0, missing > 0);
    EXPECT_TRUE(recorded[i].images == converted[i].images) << i;
  }
}

// One forged bit-time must not fill the disk with silence: what is far more than was recorded is refused before a file
// is made, and the part that was recorded can be had.
TEST(Convert, SilenceBeyondWhatWasRecordedIsRefused) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kFar = 50'000'000'000;
  for (const bool as_gap_record : {false, true}) {
    FileBuilder file;
    file.add_bits(0, 20'000);
    if (as_gap_record) {
      file.add({.kind = nfr::Kind::kBits,
                .first_bit_time = 20'000,
                .bit_times = kFar - 20'000,
                .missing_bit_times = kFar - 20'000,
                .flags = nfr::kNotStored},
               {});
    }
    file.add_bits(kFar, 20'000);
    nfr::Reader reader{std::span<const std::byte>(file.bytes)};
    try {
      (void)nfr::convert_bits(reader, folder / "bits.h5", {}, {});
      FAIL() << "refused nothing";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("40000 that were recorded"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    EXPECT_EQ(nfr::convert_bits(reader, folder / "bits.h5", {.from = 0, .to = 30'000}, {}).missing_bit_times, 10'000U);
    std::filesystem::remove(folder / "bits.h5");
    std::ofstream(folder / "a.nfr", std::ios::binary)
        .write(reinterpret_cast<const char*>(file.bytes.data()), static_cast<std::streamsize>(file.bytes.size()));
    EXPECT_THROW(open_recording(folder / "a.nfr", Settings()), DataError);
    std::filesystem::remove(folder / "a.nfr");
  }
}

TEST(Convert, AGapOfSomeTimesWhatWasRecordedIsSilence) {
  const TemporaryFolder folder;
  FileBuilder file;
  file.add_bits(0, 1000);
  file.add_bits(1'000'000, 1000);  // two thirds of a second
  nfr::Reader reader{std::span<const std::byte>(file.bytes)};
  EXPECT_EQ(nfr::convert_bits(reader, folder / "bits.h5", {}, {}).missing_bit_times, 999'000U);
}

TEST(Convert, InspectDescribesIt) {
  const TemporaryFolder folder;
  const std::string text = text_of(facts_of_file(record(folder)));
  for (const char* fact : {"recording", "8 x 8 microphones", "6700 bit-times = 5950 received + 750 missing",
                           "2: bit-times 750 never sent by the source, 0 paused by the daemon",
                           "of epoch 1: 2 lines of YAML", "surface of epoch 1: 5 frames of cutoff_rad_per_m, slope",
                           "5 of epoch 1: pressure in Pa", "stopped", "0 bytes of an incomplete record"}) {
    EXPECT_NE(text.find(fact), std::string::npos) << fact << "\n" << text;
  }
}

TEST(Convert, MicrophonesKeepTheirStatistics) {
  const TemporaryFolder folder;
  const std::string path = record(folder);
  nfr::Reader reader{std::filesystem::path(path)};
  (void)nfr::convert_bits(reader, folder / "bits.h5", {}, {});
  const MicrophoneStatistics recorded = statistics_of_file(path, {}).value();
  const MicrophoneStatistics converted = statistics_of_file(folder / "bits.h5", {}).value();
  EXPECT_EQ(recorded.missing, 54U) << "samples 42 to 95, which depend on bit-times 2000 to 2699 and 3000 to 3049";
  EXPECT_EQ(converted.missing, 54U);
  ASSERT_EQ(recorded.microphones.size(), converted.microphones.size());
  EXPECT_GT(recorded.microphones[31].level.rms, 0.0);
  for (std::size_t i = 0; i < recorded.microphones.size(); ++i) {
    EXPECT_EQ(recorded.microphones[i].level.rms, converted.microphones[i].level.rms) << i;
    EXPECT_EQ(recorded.microphones[i].level.non_finite, 0U) << i;
    EXPECT_EQ(recorded.microphones[i].level.samples, 209 - 20 - 54U) << i;
  }
}

}  // namespace
}  // namespace nearfield::test
