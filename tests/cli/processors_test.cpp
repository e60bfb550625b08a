#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/measures.hpp"

/// Processors beside the first one, as a user runs them.
namespace nearfield {
namespace {

using testing::HasSubstr;

/// 8 x 8 microphones, 2,343 samples: a monopole with two tones.
std::string capture_in(const test::TemporaryFolder& folder) {
  const std::string scene = folder / "scene.yaml";
  std::ofstream(scene) << "version: 1\narray: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.025}\nstandoff_m: "
                          "0.03\nduration_s: 0.05\nmicrophones: {noise_pa: 0.001, dc_offset_fs: 0.003}\nsources:\n"
                          "  - {kind: monopole, frequency_hz: 1007, x_m: 0.03, y_m: -0.02, z_m: -0.03, "
                          "volume_velocity_m3_s: 5.0e-5}\n"
                          "  - {kind: monopole, frequency_hz: 2500, x_m: -0.03, y_m: 0.02, z_m: -0.03, "
                          "volume_velocity_m3_s: 2.0e-5}\n";
  EXPECT_EQ(test::run_nearfield("simulate " + scene + " -o " + (folder / "c.h5")).exit_code, 0);
  return folder / "c.h5";
}

std::vector<float> values_of_product(const ResultsReader& reader, std::size_t processor) {
  const std::uint64_t frames = reader.frames(processor);
  const std::vector<std::byte> bytes = reader.read_array(processor, 0, 0, frames);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Root mean square of the differences, relative to the expected values'.
double difference(const std::vector<float>& values, const std::vector<float>& expected) {
  EXPECT_EQ(values.size(), expected.size());
  double differences = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < std::min(values.size(), expected.size()); ++i) {
    differences += std::pow(static_cast<double>(values[i]) - static_cast<double>(expected[i]), 2);
    squares += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(differences / squares);
}

// A longer window, another kind and other frequencies beside the run's: both engines compute the same maps, of which
// the second tone has its own, and batches change nothing.
TEST(Processors, EnginesAgreeOnSpectraOfAProcessorsOwn) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const std::string options =
      " --set front_end.frequencies_hz=[1007] --set processors.far.kind=beamform --set processors.far.every_hops=4"
      " --set processors.far.grid.step_m=0.25"
      " --set processors.far.front_end.window_samples=2048 --set processors.far.front_end.kind=dot_product"
      " --set processors.far.front_end.frequencies_hz=[1007,2500]"
      " --set processors.near.kind=beamform --set processors.near.front_end.window_samples=512"
      " --set processors.near.grid.step_m=0.25 ";
  const auto replay = [&](const std::string& more, const std::string& output) {
    const auto result = test::run_nearfield("replay " + capture + " -o " + (folder / output) + options + more);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return ResultsReader(folder / output);
  };
  const ResultsReader expected = replay("--engine reference", "reference.h5");
  const ResultsReader found = replay("", "device.h5");
  const ResultsReader batches = replay("--set device.batch=3", "batches.h5");
  ASSERT_EQ(found.processors(), 3U);
  EXPECT_EQ(found.frames(0), 42U);                 // windows end at 1024 + 32 i, up to 2343
  EXPECT_EQ(found.frames(1), (41 - 32) / 4 + 1U);  // frames 32, 36 and 40: from 2048 on
  EXPECT_EQ(found.frames(2), 42U);
  EXPECT_EQ(found.header(1).axes.front().values, (std::vector<double>{1007.0, 2500.0}));
  EXPECT_THAT(found.header(1).front_end, HasSubstr("dot_product"));
  EXPECT_EQ(found.stamps(1).first_samples.front(), 0U);
  EXPECT_EQ(found.stamps(2).first_samples.front(), 512 * kBitsPerWord);
  for (std::size_t p = 1; p < 3; ++p) {
    const std::vector<float> reference = values_of_product(expected, p);
    const std::vector<float> device = values_of_product(found, p);
    EXPECT_LT(difference(device, reference), 1e-3) << p;  // as images of both engines
    EXPECT_EQ(found.stamps(p).flags, expected.stamps(p).flags);
    EXPECT_LT(difference(values_of_product(batches, p), device), 1e-4) << p;  // sums in another order
  }
}

// The others have their frames all the same.
TEST(Processors, ARecordingShorterThanTheirWindowHasNoFrameOfTheirs) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const auto result = test::run_nearfield("replay " + capture + " -o " + (folder / "o.h5") +
                                          " --set processors.far.kind=beamform"
                                          " --set processors.far.front_end.window_samples=4096");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("processors.far: no frame among frames 0 to 41 of"));
  EXPECT_THAT(result.output, HasSubstr("it has one every 1 hops, once 4096 samples have come"));
  EXPECT_EQ(ResultsReader(folder / "o.h5").processors(), 1U);
}

// Without images the first of the section processors is the first of the file, whatever its cadence and window are.
TEST(Processors, WithoutImagesTheFirstOfTheSectionIsTheFirst) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const auto replay = [&](const std::string& more) {
    return test::run_nearfield("replay " + capture + " -o " + (folder / "o.h5") +
                               " --set holography.imager=none --set processors.far.kind=spectrum" +
                               " --set processors.far.every_hops=4 --set processors.near.kind=beamform" +
                               " --set processors.near.grid.step_m=0.25 --set processors.far.window_samples=" + more);
  };
  for (const std::string engine : {"opencl", "reference"}) {
    const auto result = replay("1152 --engine " + engine);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const ResultsReader found(folder / "o.h5");
    ASSERT_EQ(found.processors(), 2U);
    EXPECT_EQ(found.header(0).processor, "far");
    EXPECT_EQ(found.frames(0), 10U) << "of 42 hops every fourth, from hop 4 on, when 1152 samples have come";
    EXPECT_EQ(found.frames(1), 42U);
  }
  const auto none = replay("8192");
  EXPECT_EQ(none.exit_code, static_cast<int>(ExitCode::kBadData)) << none.output;
  EXPECT_THAT(none.output, HasSubstr("processors.far: no frame among frames 0 to 41 of"));
}

TEST(Processors, TheirFrequenciesAreThoseOfTheirFrontEnd) {
  const test::TemporaryFolder folder;
  const std::string capture = capture_in(folder);
  const auto result = test::run_nearfield("replay " + capture + " -o " + (folder / "o.h5") +
                                          " --set processors.far.kind=beamform"
                                          " --set processors.far.front_end.frequencies_hz=[30000]");
  EXPECT_EQ(result.exit_code, static_cast<int>(ExitCode::kBadConfig));
  EXPECT_THAT(result.output, HasSubstr("processors.far.front_end.frequencies_hz[0]: expected at most 23437.5 Hz"));
}

}  // namespace
}  // namespace nearfield
