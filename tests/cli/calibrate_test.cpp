#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "files/files.hpp"
#include "simulate/scene.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/measures.hpp"
#include "support/recordings.hpp"

namespace nearfield {
namespace {

using testing::HasSubstr;

const std::string kSource =
    "  - {kind: monopole, frequency_hz: 976.5625, x_m: 0.1, y_m: 0.05, z_m: -0.8, volume_velocity_m3_s: 3.0e-3}\n"
    "  - {kind: monopole, frequency_hz: 1953.125, x_m: 0.1, y_m: 0.05, z_m: -0.8, volume_velocity_m3_s: 1.5e-3}\n";
const std::string kWindow = " --set front_end.window_samples=192 --set front_end.frequencies_hz=[1953.125,976.5625] ";

/// 8 x 8 microphones that differ by up to 3 dB and 20 degrees, before one source at two frequencies.
std::string write_scene(const std::string& path, const std::string& sources, double gain_db, double phase_deg,
                        const std::string& dead = "[]") {
  std::ofstream(path) << "version: 1\narray: {rows: 8, columns: 8}\nstandoff_m: 0.03\nduration_s: 0.1\nseed: 5\n"
                      << "microphones: {noise_pa: 1.0e-4, gain_spread_db: " << gain_db
                      << ", phase_spread_deg: " << phase_deg << ", dead_channels: " << dead << "}\nsources:\n"
                      << sources;
  return path;
}

void simulate(const std::string& scene, const std::string& capture) {
  const auto made = test::run_nearfield("simulate " + scene + " -o " + capture);
  ASSERT_EQ(made.exit_code, 0) << made.output;
}

TEST(Calibrate, FindsTheGainsThatMicrophonesWereGiven) {
  const test::TemporaryFolder folder;
  const std::string scene = write_scene(folder / "scene.yaml", kSource, 3.0, 20.0, "[37]");
  simulate(scene, folder / "c.h5");
  const auto done = test::run_nearfield("calibrate " + (folder / "c.h5") + " --source 0.1,0.05,-0.8 -o " +
                                        (folder / "k.h5") + kWindow);
  ASSERT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("microphone 37 (row 4, column 5) has no gain"));
  const Calibration found = read_calibration(folder / "k.h5");
  EXPECT_EQ(found.frequencies_hz, (std::vector<double>{976.5625, 1953.125}));
  const auto responses = microphone_responses(load_scene(scene));
  for (std::size_t f = 0; f < 2; ++f) {
    // But for one common factor, which the median magnitude and the mean phase decide.
    std::complex<double> common = 0.0;
    for (std::size_t i = 0; i < 64; ++i) {
      common += i == 37 ? 0.0 : std::complex<double>(found.gains[f * 64 + i]) * responses[i] / 63.0;
    }
    EXPECT_NEAR(std::abs(common), 1.0, 0.2);
    for (std::size_t i = 0; i < 64; ++i) {
      if (i == 37) {
        EXPECT_TRUE(std::isnan(found.gains[f * 64 + i].real()));
        continue;
      }
      // Order-1 popcount windows of 192 samples of these levels are good to some 1e-3.
      EXPECT_LE(std::abs(std::complex<double>(found.gains[f * 64 + i]) * responses[i] / common - 1.0), 0.01) << i;
    }
  }
}

TEST(Calibrate, ImagesComeOutRightWithWhatItFound) {
  const test::TemporaryFolder folder;
  simulate(write_scene(folder / "far.yaml", kSource, 3.0, 20.0), folder / "far.h5");
  const std::string near =
      "  - {kind: monopole, frequency_hz: 976.5625, x_m: 0.01, y_m: -0.02, z_m: -0.03, volume_velocity_m3_s: 1.0e-4}\n";
  simulate(write_scene(folder / "near.yaml", near, 3.0, 20.0), folder / "near.h5");
  simulate(write_scene(folder / "ideal.yaml", near, 0.0, 0.0), folder / "ideal.h5");
  const std::string window = " --set front_end.window_samples=192 --set front_end.frequencies_hz=[976.5625] ";
  ASSERT_EQ(test::run_nearfield("calibrate " + (folder / "far.h5") + " --source 0.1,0.05,-0.8 -o " + (folder / "k.h5") +
                                window)
                .exit_code,
            0);
  const auto image = [&](const std::string& capture, const std::string& more) {
    // By the prior alone: a fit of one point source averages over the microphones' errors, 10 % of which 6 are left.
    const auto done = test::run_nearfield("replay " + capture + " --frames 1 -o " + (folder / "out.h5") + window +
                                          "--set holography.search_every_frames=0 " + more);
    EXPECT_EQ(done.exit_code, 0) << done.output;
    return ImagesReader(folder / "out.h5").read(0).images;
  };
  const auto ideal = image(folder / "ideal.h5", "");
  const auto error = [&ideal](const std::vector<std::complex<float>>& found) {
    // Without the common factor, which is the sensitivity's.
    std::complex<double> factor = 0.0;
    double power = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      factor += std::conj(std::complex<double>(found[i])) * std::complex<double>(ideal[i]);
      power += static_cast<double>(std::norm(found[i]));
    }
    std::vector<std::complex<double>> scaled;
    for (const auto value : found) {
      scaled.push_back(std::complex<double>(value) * factor / power);
    }
    return test::relative_l2(ideal, scaled);
  };
  EXPECT_GE(error(image(folder / "near.h5", "")), 0.1);
  EXPECT_LE(error(image(folder / "near.h5", " --set array.calibration=" + (folder / "k.h5"))), 0.02);
}

constexpr double kRate_hz = 46875.0;
constexpr double kCalibrator_hz = 976.5625;
const std::string kCalibratorWindow = test::kSmallArrayOptions +
                                      "--set front_end.window_samples=192 "
                                      "--set front_end.frequencies_hz=[976.5625] ";

const double kCalibratorPressure = 20e-6 * std::pow(10.0, 94.0 / 20.0);  // 1.0024

/// What a microphone makes of 1 Pa.
double response(std::size_t channel) { return 0.6 + 0.01 * static_cast<double>(channel); }

/// Time data of 8 x 8 microphones: a calibrator of 1 Pa rms stays 0.03 s over each of `channels`, its phase and its
/// frequency a little elsewhere each time; all others hear 1 % of it.
void write_calibrator(const std::string& path, const std::vector<std::size_t>& channels) {
  constexpr std::size_t kStay = 1406;
  std::vector<float> samples;
  for (std::size_t turn = 0; turn < channels.size(); ++turn) {
    const double frequency_hz = kCalibrator_hz + 0.05 * static_cast<double>(turn % 5);
    for (std::size_t n = 0; n < kStay; ++n) {
      const double angle = 2.0 * 3.14159265358979 * frequency_hz * static_cast<double>(n) / kRate_hz;
      const double tone = std::sqrt(2.0) * std::cos(angle + 1.3 * static_cast<double>(turn));
      for (std::size_t i = 0; i < 64; ++i) {
        samples.push_back(static_cast<float>(tone * (i == channels[turn] ? response(i) : 0.01)));
      }
    }
  }
  write_time_data(path, kRate_hz, 64, samples);
}

TEST(Calibrate, ByACalibratorOverOneMicrophoneAfterAnother) {
  const test::TemporaryFolder folder;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < 64; ++i) {
    if (i != 20) {
      order.push_back(i * 37 % 64 == 20 ? 0 : i * 37 % 64);  // 20 is forgotten, 0 visited twice
    }
  }
  write_calibrator(folder / "c.h5", order);
  const auto done = test::run_nearfield("calibrate " + (folder / "c.h5") + " --channel auto -o " + (folder / "k.h5") +
                                        kCalibratorWindow);
  ASSERT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("the calibrator was over "));
  const Calibration found = read_calibration(folder / "k.h5");
  const std::set<std::size_t> visited(order.begin(), order.end());
  ASSERT_LT(visited.size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) {
    if (!visited.contains(i)) {
      EXPECT_TRUE(std::isnan(found.gains[i].real())) << i;
      continue;
    }
    // The window's scalloping over 0.2 Hz of 244 Hz, and what the tone's mirror image leaks: below 1e-4.
    EXPECT_NEAR(static_cast<double>(found.gains[i].real()) * response(i), kCalibratorPressure, 1e-4) << i;
    EXPECT_EQ(found.gains[i].imag(), 0.0F);
  }
}

TEST(Calibrate, AGainBeyond40DbIsNamed) {
  const test::TemporaryFolder folder;
  write_calibrator(folder / "c.h5", {3});
  const auto done = test::run_nearfield("calibrate " + (folder / "c.h5") + " --channel 3 --level-db 140 -o " +
                                        (folder / "k.h5") + kCalibratorWindow);
  EXPECT_EQ(done.exit_code, 65) << done.output;
  EXPECT_THAT(done.output, HasSubstr("microphone 3: a gain of "));
  EXPECT_THAT(done.output, HasSubstr(" Hz is beyond 40 dB and is left out"));
}

TEST(Calibrate, ACalibratorSetsTheLevelOfAnEarlierCalibration) {
  const test::TemporaryFolder folder;
  write_calibrator(folder / "a.h5", {3});
  write_calibrator(folder / "b.h5", {9});
  Calibration start{.geometry = test::small_array(), .frequencies_hz = {500.0, 2000.0}, .gains = {}};
  for (std::size_t f = 0; f < 2; ++f) {
    for (std::size_t i = 0; i < 64; ++i) {
      // Right but for a common factor of two, and a microphone that has no gain.
      const auto magnitude = static_cast<float>(i == 50 ? std::nan("") : 2.0 / response(i));
      start.gains.push_back(magnitude * std::polar(1.0F, 0.1F * static_cast<float>(f + i)));
    }
  }
  write_calibration(folder / "start.h5", start);
  const std::string files = "calibrate " + (folder / "a.h5") + " " + (folder / "b.h5");
  const auto done = test::run_nearfield(files + " --channel 3,9 --start " + (folder / "start.h5") + " -o " +
                                        (folder / "k.h5") + kCalibratorWindow);
  ASSERT_EQ(done.exit_code, 0) << done.output;
  const Calibration found = read_calibration(folder / "k.h5");
  EXPECT_EQ(found.frequencies_hz, start.frequencies_hz);
  for (std::size_t k = 0; k < 128; ++k) {
    if (k % 64 == 50) {
      EXPECT_TRUE(std::isnan(found.gains[k].real()));
    } else {
      // Interpolated between 500 and 2000 Hz the start's phasors, 0.1 rad apart, are 0.1 % short.
      EXPECT_LE(std::abs(found.gains[k] / start.gains[k] - static_cast<float>(0.5 * kCalibratorPressure)), 1e-3F) << k;
    }
  }
  const auto louder = test::run_nearfield(files + " --channel 3,9 --level-db 114 --start " + (folder / "start.h5") +
                                          " -o " + (folder / "k.h5") + kCalibratorWindow);
  ASSERT_EQ(louder.exit_code, 0) << louder.output;
  EXPECT_NEAR(std::abs(read_calibration(folder / "k.h5").gains[7] / start.gains[7]), 5.01F, 0.02F);
}

// A tour of 3 of 64 microphones: the file is for the next tour, and no image can be made with it.
TEST(Calibrate, WithFewGainsIsNotDone) {
  const test::TemporaryFolder folder;
  write_calibrator(folder / "c.h5", {3, 9, 27});
  const auto done = test::run_nearfield("calibrate " + (folder / "c.h5") + " --channel auto -o " + (folder / "k.h5") +
                                        kCalibratorWindow);
  EXPECT_EQ(done.exit_code, 65) << done.output;
  EXPECT_THAT(done.output, HasSubstr("expected at least 32 of 64 microphones that can be used "
                                     "(array.fewest_valid_share: 0.5), found 3 with a gain"));
  EXPECT_THAT(done.output, HasSubstr("--start"));
  EXPECT_NEAR(static_cast<double>(read_calibration(folder / "k.h5").gains[9].real()) * response(9), kCalibratorPressure,
              1e-4);
  EXPECT_EQ(test::run_nearfield("calibrate " + (folder / "c.h5") + " --channel auto -o " + (folder / "k.h5") +
                                kCalibratorWindow + " --set array.fewest_valid_share=0.04")
                .exit_code,
            0);
}

TEST(Calibrate, SaysWhatIsWrongWithACalibrator) {
  const test::TemporaryFolder folder;
  write_calibrator(folder / "a.h5", {3});
  const std::string begin = "calibrate " + (folder / "a.h5") + " -o " + (folder / "k.h5") + kCalibratorWindow;
  const auto other = test::run_nearfield(begin + "--channel 64");
  EXPECT_EQ(other.exit_code, 64) << other.output;
  EXPECT_THAT(other.output, HasSubstr("expected microphones from 0 to 63, found 64"));
  EXPECT_EQ(test::run_nearfield(begin + "--channel 3,4").exit_code, 64);
  EXPECT_EQ(test::run_nearfield(begin + "--channel all").exit_code, 64);
  EXPECT_EQ(test::run_nearfield(begin + "--channel 3 --direction 0,0").exit_code, 64);
  EXPECT_EQ(test::run_nearfield(begin + "--start " + (folder / "a.h5")).exit_code, 64);
  const auto silent = test::run_nearfield(begin + "--channel auto --set front_end.frequencies_hz=[5859.375]");
  EXPECT_EQ(silent.exit_code, 65) << silent.output;
  EXPECT_THAT(silent.output, HasSubstr("no microphone has the steady tone"));
}

TEST(Calibrate, SaysWhatIsWrong) {
  const test::TemporaryFolder folder;
  simulate(write_scene(folder / "scene.yaml", kSource, 0.0, 0.0), folder / "c.h5");
  const std::string output = " -o " + (folder / "k.h5");
  const auto elsewhere = test::run_nearfield("calibrate " + (folder / "c.h5") + output + kWindow +
                                             " --set front_end.frequencies_hz=[5859.375]");
  EXPECT_EQ(elsewhere.exit_code, 65) << elsewhere.output;
  EXPECT_THAT(elsewhere.output, HasSubstr("do not follow the field that was given"));
  const auto above = test::run_nearfield("calibrate " + (folder / "c.h5") + output + kWindow + " --source 0,0,0.5");
  EXPECT_EQ(above.exit_code, 64) << above.output;
  const auto both = test::run_nearfield("calibrate " + (folder / "c.h5") + output + " --source 0,0,-1 --direction 0,0");
  EXPECT_EQ(both.exit_code, 64) << both.output;
  const auto none = test::run_nearfield("calibrate " + (folder / "nothing.h5") + output);
  EXPECT_EQ(none.exit_code, 66) << none.output;
  const auto short_one =
      test::run_nearfield("calibrate " + (folder / "c.h5") + output + " --set front_end.window_samples=2048");
  EXPECT_EQ(short_one.exit_code, 65) << short_one.output;
  EXPECT_THAT(short_one.output, HasSubstr("expected at least 4 whole windows"));
}

}  // namespace
}  // namespace nearfield
