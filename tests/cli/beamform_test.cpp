#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>
#include <random>

#include "files/files.hpp"
#include "files/results_file.hpp"
#include "publish/png.hpp"
#include "support/command.hpp"

/// A beamformer as a user runs it, from bits to maps.
namespace nearfield {
namespace {

constexpr double kDensityKgM3 = 1.2041;
constexpr double kBin_hz = 46875.0 / 1024.0;

/// Two monopoles 1 m before the array, at bins of their own, from fourth-order modulators.
std::string two_monopoles(const test::TemporaryFolder& folder) {
  std::string scene = folder / "scene.yaml";
  std::ofstream(scene) << "version: 1\nstandoff_m: 0.03\nduration_s: 0.0221\nseed: 5\n"
                       << "array: {rows: 16, columns: 16, pitch_x_m: 0.03, pitch_y_m: 0.03}\n"
                       << "sigma_delta: {order: 4}\nsources:\n"
                       << "  - {kind: monopole, frequency_hz: " << 22 * kBin_hz
                       << ", x_m: 0.2, y_m: -0.1, z_m: -0.97, volume_velocity_m3_s: 1.0e-3}\n"
                       << "  - {kind: monopole, frequency_hz: " << 87 * kBin_hz
                       << ", x_m: -0.3, y_m: 0.2, z_m: -0.97, volume_velocity_m3_s: 2.0e-4}\n";
  return scene;
}

/// What the map of `true_location` reads of a monopole in its plane: its pressure at the array's centre, p, times
/// r_0 sqrt(mean(1/r^2)) over the microphones.
double expected_pa(double frequency_hz, double volume_velocity_m3_s, double x_m, double y_m) {
  const ArrayGeometry geometry = {.rows = 16, .columns = 16, .pitch_x_m = 0.03, .pitch_y_m = 0.03};
  double mean_inverse_square = 0.0;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const int row = channel / geometry.columns;
    const double r = std::hypot(x_m - geometry.x_m(channel % geometry.columns), y_m - geometry.y_m(row), 1.0);
    mean_inverse_square += 1.0 / (r * r) / geometry.channels();
  }
  return kDensityKgM3 * 2.0 * std::numbers::pi * frequency_hz * volume_velocity_m3_s / (4.0 * std::numbers::pi) *
         std::sqrt(mean_inverse_square);
}

std::size_t index_of(const Axis& axis, double value) {
  const auto nearest = std::min_element(axis.values.begin(), axis.values.end(),
                                        [&](double a, double b) { return std::abs(a - value) < std::abs(b - value); });
  return static_cast<std::size_t>(nearest - axis.values.begin());
}

class BeamformCommand : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = test::run_nearfield("simulate " + two_monopoles(folder_) + " -o " + capture_);
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  [[nodiscard]] test::CommandResult replay(const std::string& options) const {
    return test::run_nearfield("replay " + capture_ + " -o " + output_ + " --set front_end.frequencies_hz=[" +
                               std::to_string(22 * kBin_hz) + "," + std::to_string(87 * kBin_hz) + "] " +
                               "--set processors.far.kind=beamform " + options);
  }
  test::TemporaryFolder folder_;
  std::string capture_ = folder_ / "capture.h5";
  std::string output_ = folder_ / "out.h5";
};

// The largest value of each frequency's map lies at its source and has the level of the closed form, to 0.1 dB:
// the modulator's noise and the other source's side lobes at these bins lie far below.
TEST_F(BeamformCommand, FindsTwoMonopolesAndTheirLevelsFromBits) {
  for (const std::string engine : {"opencl", "reference"}) {
    const auto result = replay("--engine " + engine + " --set processors.far.steering.formulation=true_location " +
                               "--set processors.far.grid.step_m=0.05");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const ResultsReader reader(output_);
    ASSERT_EQ(reader.processors(), 2U);
    const ResultHeader& header = reader.header(1);
    EXPECT_EQ(header.processor, "far");
    EXPECT_EQ(header.products.at(0).axes, std::vector<std::string>({"frequency", "distance", "y", "x"}));
    const ResultFrame frame = reader.read(1, 0);
    EXPECT_EQ(frame.frame.flags & ~static_cast<std::uint32_t>(kFlagExtrapolationFellBack), 0U);
    const auto map = values_of<std::complex<float>>(frame.frame.products[0]);
    const std::size_t pixels = map.size() / 2;
    ASSERT_EQ(pixels, 21U * 21U);
    const auto expect_source = [&](std::size_t f, double x_m, double y_m, double pressure_pa) {
      const auto of_frequency = map.subspan(f * pixels, pixels);
      const auto highest = std::max_element(of_frequency.begin(), of_frequency.end(),
                                            [](auto a, auto b) { return std::norm(a) < std::norm(b); });
      EXPECT_EQ(static_cast<std::size_t>(highest - of_frequency.begin()),
                index_of(*header.axis("y"), y_m) * 21 + index_of(*header.axis("x"), x_m));
      EXPECT_NEAR(20.0 * std::log10(static_cast<double>(std::abs(*highest)) / pressure_pa), 0.0, 0.1);
    };
    expect_source(0, 0.2, -0.1, expected_pa(22 * kBin_hz, 1e-3, 0.2, -0.1));
    expect_source(1, -0.3, 0.2, expected_pa(87 * kBin_hz, 2e-4, -0.3, 0.2));
  }
}

TEST_F(BeamformCommand, AveragesAreDrawnAndCompared) {
  const std::string pictures = folder_ / "pictures";
  const auto result = replay(
      "--set processors.far.grid.kind=angles --set processors.far.grid.distance_m=inf "
      "--set processors.far.grid.step_deg=4 --set processors.far.average.kind=linear "
      "--set processors.far.diagonal_removal=true --png " +
      pictures);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(output_);
  EXPECT_EQ(reader.header(1).products.at(0).unit, "Pa^2");
  EXPECT_EQ(reader.header(1).products.at(0).axes, std::vector<std::string>({"frequency", "elevation", "azimuth"}));
  std::size_t drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator(pictures)) {
    drawn += entry.path().filename().string().starts_with("frame00000_far_map_frequency") ? 1U : 0U;
  }
  EXPECT_EQ(drawn, 2U);
  const auto compared = test::run_nearfield("compare " + output_ + " " + output_);
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
}

TEST_F(BeamformCommand, GridsThatAreTooLargeAreRefused) {
  const auto result = replay("--set processors.far.grid.step_m=0.00003");
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.output.find("expected at most 4194304 pixels"), std::string::npos) << result.output;
  EXPECT_FALSE(std::filesystem::exists(output_));
  const auto missing = replay("--set processors.far.grid.kind=points --set processors.far.grid.points=none.csv");
  EXPECT_EQ(missing.exit_code, 66) << missing.output;
}

// 64 microphones in a line, 0.375 m apart, in a medium of 1500 m/s: the published page of a narrowband beamformer,
// whose tone of 2 kHz comes from 60 degrees and is sampled 256 times at 12.8 kHz. Here samples go in and a file comes
// out.
class LineOfMicrophones : public testing::Test {
 protected:
  static constexpr int kChannels = 64;
  static constexpr int kSamples = 256;
  static constexpr double kRate_hz = 12800.0;
  static constexpr double kPitch_m = 0.375;
  static constexpr double kSoundSpeed = 1500.0;
  static constexpr double kAngle = std::numbers::pi / 3.0;
  static double bin_hz(int bin) { return bin * kRate_hz / kSamples; }

  /// Waves of 1 Pa from 60 degrees, one a bin, with phases of their own, sampled at [sample][channel].
  void write_waves(const std::vector<int>& bins) const {
    std::vector<float> samples;
    for (int n = 0; n < kSamples; ++n) {
      for (int channel = 0; channel < kChannels; ++channel) {
        const double x_m = (channel - (kChannels - 1) / 2.0) * kPitch_m;
        double sum = 0.0;
        for (const int bin : bins) {
          const double phase =
              2.0 * std::numbers::pi * bin_hz(bin) * (n / kRate_hz + x_m * std::cos(kAngle) / kSoundSpeed);
          sum += std::cos(phase + 0.7 * bin * bin);
        }
        samples.push_back(static_cast<float>(sum));
      }
    }
    write_time_data(time_, kRate_hz, kChannels, samples);
  }
  /// [bin][angle], as the file has it.
  [[nodiscard]] std::vector<std::complex<float>> map(const std::vector<int>& bins,
                                                     const std::string& options = "") const {
    std::string frequencies_hz;
    for (const int bin : bins) {
      frequencies_hz += (frequencies_hz.empty() ? "" : ",") + std::to_string(bin_hz(bin));
    }
    const auto result = test::run_nearfield(
        "replay " + time_ + " -o " + output_ +
        " --set array.rows=1 --set array.columns=64 --set array.pitch_x_m=0.375 " +
        "--set array.pitch_y_m=0.375 --set holography.standoff_m=0.375 --set holography.extrapolation.method=zero "
        "--set medium.sound_speed_m_s=1500 " +
        "--set front_end.window=none --set front_end.window_samples=256 --set processors.far.kind=beamform " +
        "--set processors.far.grid.kind=line --set processors.far.grid.distance_m=inf --set "
        "front_end.frequencies_hz=[" +
        frequencies_hz + "] " + options);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    if (result.exit_code != 0) {
      return {};
    }
    const ResultFrame frame = ResultsReader(output_).read(1, 0);
    const auto values = values_of<std::complex<float>>(frame.frame.products[0]);
    return {values.begin(), values.end()};
  }
  /// |sin(32 psi) / (64 sin(psi / 2))|
  static double curve(int bin, std::size_t pixel) {
    const double theta = std::numbers::pi * static_cast<double>(pixel) / 511.0;
    const double psi =
        2.0 * std::numbers::pi * bin_hz(bin) / kSoundSpeed * kPitch_m * (std::cos(kAngle) - std::cos(theta));
    const double divisor = kChannels * std::sin(psi / 2.0);
    return std::abs(divisor) < 1e-9 ? 1.0 : std::abs(std::sin(kChannels / 2.0 * psi) / divisor);
  }
  test::TemporaryFolder folder_;
  std::string time_ = folder_ / "time.h5";
  std::string output_ = folder_ / "out.h5";
};

TEST_F(LineOfMicrophones, HasThePublishedPage) {
  write_waves({40});
  const std::string pictures = folder_ / "pictures";
  const auto beams = map({40}, "--png " + pictures);
  ASSERT_EQ(beams.size(), 512U);
  std::vector<double> page;  // in its scale
  for (const auto value : beams) {
    page.push_back(8192.0 * std::abs(std::complex<double>(value)));
  }
  EXPECT_EQ(std::max_element(page.begin(), page.end()) - page.begin(), 170);
  EXPECT_NEAR(page[170], 8148.6684, 0.08);  // 1e-5 of the peak
  EXPECT_NEAR(std::log(page[170]), 9.005610, 1e-5);
  EXPECT_NEAR(page[169], 7517.388, 0.08);
  EXPECT_NEAR(page[171], 8018.890, 0.08);
  for (std::size_t i = 0; i < page.size(); ++i) {
    EXPECT_NEAR(page[i], 8192.0 * curve(40, i), 0.08) << i;
  }
  // The page's figure as a strip, whose brightest place is the maximum; tests of `beampattern` look at its curve.
  const test::Png strip(std::filesystem::path(pictures) / "frame00000_far_map.png");
  std::size_t brightest = 0;
  for (int y = 0; y < strip.height(); ++y) {
    for (int x = 0; x < strip.width(); ++x) {
      brightest += strip.at(x, y) == magnitude_colour(1.0) ? 1U : 0U;
    }
  }
  EXPECT_GE(brightest, 50U);
}

// Frequency over angle in one call, of all bins below half the sample rate.
TEST_F(LineOfMicrophones, MapsAllBinsAtOnceAsOneByOne) {
  std::vector<int> bins(127);
  std::iota(bins.begin(), bins.end(), 1);
  write_waves(bins);
  const auto all = map(bins);
  ASSERT_EQ(all.size(), 127U * 512U);
  for (const int bin : bins) {
    for (std::size_t i = 0; i < 512; ++i) {
      const auto value = all[static_cast<std::size_t>(bin - 1) * 512 + i];
      ASSERT_NEAR(static_cast<double>(std::abs(value)), curve(bin, i), 2e-5) << bin << ", " << i;
    }
  }
  for (const int bin : {1, 40, 87, 127}) {
    const auto alone = map({bin});
    ASSERT_EQ(alone.size(), 512U);
    for (std::size_t i = 0; i < 512; ++i) {
      EXPECT_LT(std::abs(alone[i] - all[static_cast<std::size_t>(bin - 1) * 512 + i]), 1e-5F) << bin << ", " << i;
    }
  }
}

/// The same pressure at 4 x 4 microphones, from broadside: maps of angles have its level at the middle.
class BandsOfBroadside : public testing::Test {
 protected:
  static constexpr double kRate_hz = 12800.0;
  static constexpr int kChannels = 16;

  template <class Pressure>
  void write(double seconds, Pressure pressure_at) const {
    std::vector<float> samples;
    for (int n = 0; n < static_cast<int>(seconds * kRate_hz); ++n) {
      samples.insert(samples.end(), kChannels, static_cast<float>(pressure_at(n / kRate_hz)));
    }
    write_time_data(time_, kRate_hz, kChannels, samples);
  }
  [[nodiscard]] test::CommandResult replay(const std::string& options) const {
    return test::run_nearfield(
        "replay " + time_ + " -o " + output_ + " --set array.rows=4 --set array.columns=4 --set array.pitch_x_m=0.02 " +
        "--set array.pitch_y_m=0.02 --set holography.standoff_m=0.03 --set front_end.frequencies_hz=[1000] " +
        "--set front_end.window_samples=1024 --set front_end.hop_samples=512 --set processors.far.kind=beamform " +
        "--set processors.far.grid.kind=angles --set processors.far.grid.distance_m=inf " +
        "--set processors.far.grid.azimuth_deg=[-20,20] --set processors.far.grid.elevation_deg=[-20,20] " +
        "--set processors.far.grid.step_deg=20 --set processors.far.average.kind=linear " +
        "--set processors.far.average.seconds=10 " + options);
  }
  /// Of the last frame, [band], at the pixel in the middle.
  [[nodiscard]] std::vector<double> powers() const {
    const ResultsReader reader(output_);
    const ResultFrame frame = reader.read(1, reader.frames(1) - 1);
    const auto values = values_of<float>(frame.frame.products.front());
    std::vector<double> powers;
    for (std::size_t first = 0; first < values.size(); first += 9) {
      powers.push_back(static_cast<double>(values[first + 4]));
    }
    return powers;
  }
  test::TemporaryFolder folder_;
  std::string time_ = folder_ / "time.h5";
  std::string output_ = folder_ / "out.h5";
};

// A tone between two bins, well inside its band: its mean square, 2 Pa^2, and nothing in the next but one.
TEST_F(BandsOfBroadside, HaveTheMeanSquareOfATone) {
  write(1.0, [](double t) { return 2.0 * std::cos(2.0 * std::numbers::pi * 1003.7 * t); });
  const auto result = replay("--set processors.far.bands.third_octave=[1000,1600]");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::vector<double> found = powers();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(10.0 * std::log10(found[0] / 2.0), 0.0, 0.05);
  EXPECT_LT(found[1], 1e-6);
}

// White noise of 1 Pa^2 has the density 1/6400 Pa^2/Hz; bands are 0.23077 of their exact mid-band frequencies wide. In
// 10 s the powers fluctuate by 1/sqrt(10 s 231 Hz), 0.09 dB, and a little more as windows are half a window apart.
// Whole bins would be up to 1 dB off at the two short windows, of whose bins the first band is 3.2 and 3.8 wide.
TEST_F(BandsOfBroadside, HaveTheMeanSquareOfNoise) {
  std::mt19937 generator(4U);
  std::normal_distribution<double> normal(0.0, 1.0);
  write(10.0, [&](double) { return normal(generator); });
  for (const int window : {175, 210, 512, 1024}) {
    const auto result = replay("--set processors.far.bands.third_octave=[1000,1600] --set front_end.window_samples=" +
                               std::to_string(window) + " --set front_end.hop_samples=" + std::to_string(window / 2));
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const std::vector<double> found = powers();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_NEAR(10.0 * std::log10(found[0] / (230.768 / 6400.0)), 0.0, 0.3) << window;
    EXPECT_NEAR(10.0 * std::log10(found[1] / (365.742 / 6400.0)), 0.0, 0.3) << window;
  }
}

TEST_F(BandsOfBroadside, AreRefusedWithTheWindowThatWouldDo) {
  write(0.2, [](double) { return 1.0; });
  const auto narrow = replay("--set processors.far.bands.third_octave=[100]");
  EXPECT_EQ(narrow.exit_code, 78);
  EXPECT_NE(narrow.output.find("processors.far.bands.third_octave: expected bands of at least 3 bins: windows of 1665 "
                               "samples or more"),
            std::string::npos)
      << narrow.output;
  const auto complex = replay("--set processors.far.average.kind=none --set processors.far.bands.third_octave=[1000]");
  EXPECT_EQ(complex.exit_code, 78);
  EXPECT_NE(complex.output.find("processors.far.bands.third_octave: expected none with average.kind: none"),
            std::string::npos)
      << complex.output;
  const auto wrong = replay("--set processors.far.bands.third_octave=[1100]");
  EXPECT_EQ(wrong.exit_code, 78);
  EXPECT_NE(wrong.output.find("centres of third octaves"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace nearfield
