#include "support/positions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <numbers>

#include "files/files.hpp"
#include "files/results_file.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

// array.positions, from time data to images and maps.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kTone_hz = 1464.84375;
const std::string kWindow = " --set front_end.window_samples=96 --set front_end.frequencies_hz=[1464.84375] ";
const std::string kStandoff = " --set holography.standoff_m=0.03 ";

class PositionsCommand : public testing::Test {
 protected:
  std::string place(const std::string& content, const std::string& name = "array.csv") const {
    std::ofstream(folder_ / name) << content;
    return " --set array.positions=" + (folder_ / name) + " ";
  }
  /// The output of a command that must end with this code.
  std::string said(const std::string& arguments, int exit_code = 0) const {
    const auto result = test::run_nearfield(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << arguments << ": " << result.output;
    return result.output;
  }
  /// Of the last frame.
  [[nodiscard]] std::vector<std::complex<float>> images(const std::string& path) const {
    const ImagesReader reader(path);
    return reader.read(reader.frames() - 1).images;
  }
  /// A tone of a monopole of 1 Pa m, as these microphones have it.
  void write_tone(const std::vector<MicrophonePosition>& positions_m, const test::Monopole& source) const {
    std::vector<float> values;
    const double k = 2.0 * std::numbers::pi * kTone_hz / 343.0;
    for (int n = 0; n < 192; ++n) {
      const test::Complex turn = std::polar(1.0, 2.0 * std::numbers::pi * kTone_hz * n / 46875.0);
      for (const MicrophonePosition& at : positions_m) {
        values.push_back(
            static_cast<float>((turn * test::monopole_pressure(source, k, at.x_m, at.y_m, 0.03 + at.z_m)).real()));
      }
    }
    write_time_data(time_, 46875.0, static_cast<int>(positions_m.size()), values);
  }
  test::TemporaryFolder folder_;
  std::string time_ = folder_ / "time.h5";
  std::string output_ = folder_ / "out.h5";
  std::string to_ = " -o " + output_ + " ";
};

/// The rms of the difference of magnitudes over that of the values.
double difference_of_magnitudes(const std::vector<std::complex<float>>& found,
                                const std::vector<std::complex<float>>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double error = 0.0;
  double power = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    error += std::pow(static_cast<double>(std::abs(found[i])) - static_cast<double>(std::abs(expected[i])), 2.0);
    power += std::norm(std::complex<double>(expected[i]));
  }
  return std::sqrt(error / power);
}

// Channels in another order, with the positions that say so, make the same images, on both engines: the pitches of
// fitted positions differ by the rounding of double precision.
TEST_F(PositionsCommand, ChannelsInAnyOrderMakeTheSameImages) {
  const std::vector<int> order = test::shuffled(64, 5);
  const std::vector<float> samples = test::monopole_samples(192, kTone_hz);
  std::vector<float> shuffled(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    shuffled[i] = samples[i / 64 * 64 + static_cast<std::size_t>(order[i % 64])];
  }
  const std::string other = folder_ / "other.h5";
  write_time_data(time_, 46875.0, 64, samples);
  write_time_data(other, 46875.0, 64, shuffled);
  const auto positions_m = test::positions_in_order(test::small_array(), order);
  for (const std::string engine : {"opencl", "reference"}) {
    (void)said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions + "--engine " + engine);
    const auto expected = images(output_);
    for (const std::string& given : {place(test::as_csv(positions_m)), place(test::as_xml(positions_m), "array.xml")}) {
      (void)said("replay " + other + to_ + kWindow + given + kStandoff + "--engine " + engine);
      EXPECT_LT(difference_of_magnitudes(images(output_), expected), 1e-5) << engine << given;
    }
  }
}

// The bits of a microphone carry what it heard, whatever its channel. Images of samples and of bits differ by the
// modulators' noise in a window of 3072 bits; microphones at wrong places would make another image altogether.
TEST_F(PositionsCommand, CapturesCarryThem) {
  const std::vector<int> order = test::shuffled(64, 6);
  const auto positions_m = test::positions_in_order(test::small_array(), order);
  write_tone(positions_m, {.x_m = 0.03, .y_m = -0.01});
  const std::string capture = folder_ / "bits.h5";
  (void)said("encode " + time_ + " -o " + capture + place(test::as_csv(positions_m)) + kStandoff + "--order 4");
  EXPECT_EQ(CaptureReader(capture).info().measurement.geometry.placement->channel_of_input, order);
  EXPECT_THAT(said("inspect " + capture),
              AllOf(HasSubstr("8 x 8 microphones"), HasSubstr("channels in another order")));
  (void)said("replay " + time_ + to_ + kWindow + place(test::as_csv(positions_m)) + kStandoff);
  const auto of_samples = images(output_);
  (void)said("replay " + capture + to_ + kWindow + "--frames 1");
  EXPECT_LT(difference_of_magnitudes(images(output_), of_samples), 0.1);
  const std::string others = place(test::as_csv(test::positions_in_order(test::small_array(), test::shuffled(64, 7))));
  EXPECT_THAT(said("replay " + capture + to_ + kWindow + others, 78),
              AllOf(HasSubstr("array.positions: expected the positions that"), HasSubstr("found others")));
}

// Without a regular grid `beamform` finds the source and its level by the closed form of true_level, and what needs a
// grid says so.
TEST_F(PositionsCommand, OnNoGridMapsAreMadeAndImagesOfOtherImagersRefused) {
  const auto positions_m = test::sunflower(33, 0.3);
  write_tone(positions_m, {.x_m = 0.2, .y_m = -0.1, .z_m = -0.97});
  const std::string given = place(test::as_csv(positions_m)) + kStandoff;
  EXPECT_THAT(
      said("replay " + time_ + to_ + kWindow + given + "--set holography.imager=pnah", 78),
      AllOf(HasSubstr("holography.imager: expected operators"), HasSubstr("33 irregular"), HasSubstr("found pnah")));
  const std::string far =
      " --set holography.imager=none --set processors.far.kind=beamform "
      "--set processors.far.grid.step_m=0.05 ";
  for (const std::string engine : {"opencl", "reference"}) {
    const std::string output = said("replay " + time_ + to_ + kWindow + given + far + "--engine " + engine);
    EXPECT_THAT(output, HasSubstr("frames without images"));
    const ResultsReader reader(output_);
    ASSERT_EQ(reader.processors(), 1U) << "no images";
    const ResultHeader& header = reader.header(0);
    const Axis* const microphones = header.axis("microphone");
    ASSERT_NE(microphones, nullptr) << "the places stand in the file";
    ASSERT_EQ(microphones->size(), 33U);
    EXPECT_EQ(microphones->values[3 * 7 + 2], positions_m[7].z_m);
    const ResultFrame frame = reader.read(0, 0);
    const auto map = values_of<std::complex<float>>(frame.frame.products.back());
    const auto highest =
        std::max_element(map.begin(), map.end(), [](auto a, auto b) { return std::norm(a) < std::norm(b); });
    const std::size_t expected = 8 * 21 + 14;  // y -0.1 m, x 0.2 m
    EXPECT_EQ(static_cast<std::size_t>(highest - map.begin()), expected);
    // 1 Pa m at the array's centre, which is sqrt(1.05) m away.
    EXPECT_NEAR(static_cast<double>(std::abs(map[expected])), 1.0 / std::sqrt(1.05), 0.005);
  }
  EXPECT_THAT(said("inspect " + output_), HasSubstr("microphone"));
  EXPECT_THAT(said("inspect " + time_ + given + "--set holography.imager=none"),
              HasSubstr("microphones on no regular grid are not compared with neighbours"));
  for (const std::string path : {"convolve", "separable"}) {
    const std::string grid = path == "separable" ? "--set processors.far.grid.kind=angles "
                                                   "--set processors.far.grid.distance_m=inf "
                                                 : "";
    EXPECT_THAT(said("replay " + time_ + to_ + kWindow + given + far + grid + "--set processors.far.path=" + path, 78),
                AllOf(HasSubstr("processors.far.path"), HasSubstr("microphones are not on a regular grid")));
  }
}

TEST_F(PositionsCommand, OfIrregularArraysAreInCapturesToo) {
  const auto positions_m = test::sunflower(33, 0.3);
  write_tone(positions_m, {.x_m = 0.2, .y_m = -0.1, .z_m = -0.97});
  const std::string capture = folder_ / "bits.h5";
  (void)said("encode " + time_ + " -o " + capture + place(test::as_csv(positions_m)) + kStandoff +
             "--set holography.imager=none");
  EXPECT_THAT(said("inspect " + capture), HasSubstr("33 microphones at given positions, on no regular grid"));
  EXPECT_THAT(said("replay " + capture + to_ + kWindow + "--set holography.imager=pnah", 78),
              HasSubstr("holography.imager: expected operators"));
  EXPECT_THAT(said("replay " + capture + to_ + kWindow + "--set holography.imager=none", 78),
              HasSubstr("processors: expected at least one with holography.imager: none, found none"));
}

// Two processors on one stream with microphones of their own: the file names them, and the run says them.
TEST_F(PositionsCommand, SubsetsAreNamedInTheFileAndInTheLog) {
  write_time_data(time_, 46875.0, 64, test::monopole_samples(192, kTone_hz));
  const std::string output =
      said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions +
           "--set 'array.subset=grid 4x4' --set array.dead_channels=[0] --set processors.a.kind=beamform "
           "--set processors.b.kind=beamform --set 'processors.b.steering.subset=[1, 8, 27, 40, 63]'");
  EXPECT_THAT(output, AllOf(HasSubstr("processors.a: uses 15 of 64 microphones: 2, 5, 7, 16"),
                            HasSubstr("processors.b: uses 5 of 64 microphones: 1, 8, 27, 40, 63")));
  const ResultsReader reader(output_);
  EXPECT_EQ(reader.header(1).axis("channel")->size(), 15U);
  EXPECT_THAT(reader.header(2).axis("channel")->values, testing::ElementsAre(1.0, 8.0, 27.0, 40.0, 63.0));
  for (const std::string subset : {"'spiral 65'", "'grid 9x8'", "'[1, 2, 3, 64]'"}) {
    EXPECT_THAT(said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions +
                         "--set processors.a.kind=beamform --set processors.a.steering.subset=" + subset,
                     78),
                HasSubstr("processors.a.steering.subset: expected"));
  }
  for (const std::string subset : {"'spiral 3'", "'helix 30'", "'[1, 1, 2, 3]'", "'grid 8'"}) {
    EXPECT_THAT(said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions + "--set array.subset=" + subset, 78),
                HasSubstr("array.subset: expected all, \"grid RxC\""));
  }
}

// Bits at another clock give the images of the samples that they were made of.
TEST_F(PositionsCommand, BitsHaveTheClockOfTheSettings) {
  write_time_data(time_, 46875.0, 64, test::monopole_samples(400, kTone_hz));
  const std::string capture = folder_ / "bits.h5";
  (void)said("encode " + time_ + " -o " + capture + test::kSmallArrayOptions +
             "--order 4 --set array.clock_hz=3000000");
  EXPECT_THAT(said("inspect " + capture), HasSubstr("3000000 Hz"));
  (void)said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions);
  const auto of_samples = images(output_);
  (void)said("replay " + capture + to_ + kWindow + "--set front_end.decimation=64 --frames 2");
  EXPECT_LT(difference_of_magnitudes(images(output_), of_samples), 0.1);
  EXPECT_THAT(said("replay " + capture + to_ + kWindow + "--set array.clock_hz=1500000", 78),
              HasSubstr("array.clock_hz: the settings say 1500000"));
  EXPECT_THAT(
      said("encode " + time_ + " -o " + capture + test::kSmallArrayOptions + "--set array.clock_hz=7000000", 78),
      HasSubstr("array.clock_hz: expected an integer from 1000000 to 6144000"));
}

TEST_F(PositionsCommand, BadOnesAreRefusedWithWhatWasExpected) {
  write_tone(test::sunflower(33, 0.3), {});
  const std::string replay = "replay " + time_ + to_ + kWindow + kStandoff + "--set holography.imager=none";
  const auto refused = [&](const std::string& given, int exit_code) {
    std::string output = said(replay + given, exit_code);
    EXPECT_THAT(output, Not(HasSubstr("terminate")));
    EXPECT_LE(std::count(output.begin(), output.end(), '\n'), 1) << output;
    return output;
  };
  EXPECT_THAT(refused(place(test::as_csv(test::sunflower(32, 0.3))), 78),
              AllOf(HasSubstr("array.positions: expected the 33 channels"), HasSubstr("found 32")));
  EXPECT_THAT(refused(" --set array.positions=" + (folder_ / "none.csv"), 78),
              AllOf(HasSubstr("array.positions"), HasSubstr("none.csv")));
  EXPECT_THAT(refused(place("<MicArray><pos"), 65), HasSubstr("expected XML"));
  EXPECT_THAT(refused(place("x_m,y_m,z_m\n0,nan,0\n"), 65), HasSubstr("microphone 0"));
  EXPECT_THAT(refused(place("x_m,y_m,z_m\n0,0,0\n0,0,0\n"), 65), HasSubstr("a place of its own"));
}

}  // namespace
}  // namespace nearfield
