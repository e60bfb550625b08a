#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>
#include <vector>

#include "files/files.hpp"
#include "support/command.hpp"
#include "support/measures.hpp"

/// `nearfield csm` as a user runs it.
namespace nearfield {
namespace {

using ::testing::HasSubstr;
using Complex = std::complex<double>;

constexpr double kBinHz = 46875.0 / 1024.0;

/// 2 x 3 microphones and a tone in bin 22; microphone 4 is dead.
std::string csm_capture(const test::TemporaryFolder& folder) {
  std::ofstream(folder / "scene.yaml")
      << "version: 1\narray: {rows: 2, columns: 3, pitch_x_m: 0.05, pitch_y_m: 0.04, sensitivity_dbfs: -10}\n"
         "standoff_m: 0.03\nduration_s: 0.1\nsigma_delta: {order: 4}\nmicrophones: {dead_channels: [4]}\n"
         "sources: [{kind: monopole, frequency_hz: "
      << 22 * kBinHz << ", x_m: 0.1, y_m: 0.02, z_m: -0.4, volume_velocity_m3_s: 1.0e-3}]\n";
  const test::CommandResult result =
      test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5"));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return folder / "c.h5";
}

Complex element(const CrossSpectraFile& file, std::size_t frequency, std::size_t row, std::size_t column) {
  const auto channels = static_cast<std::size_t>(file.info.geometry.channels());
  return Complex(file.matrices[(frequency * channels + row) * channels + column]);
}

// Of one tone C_mn = p_m conj(p_n)/2, whatever its phase in each window. 1e-4 holds the bits' noise and the front end's
// error.
TEST(CsmCommand, IsThatOfTheTone) {
  const test::TemporaryFolder folder;
  const std::string capture = csm_capture(folder);
  const std::string output = folder / "csm.h5";
  const test::CommandResult result =
      test::run_nearfield("csm " + capture + " -o " + output +
                          " --set front_end.kind=decimated_fft --bins 900,1100 --set array.dead_channels=[4]");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("5 frequencies of 8 snapshots"));
  EXPECT_THAT(result.output, HasSubstr("rows and columns of 1 microphone are 0, masked or without a value: 4"));
  const CrossSpectraFile file = read_cross_spectra(output);
  ASSERT_EQ(file.info.frequencies_hz.size(), 5U);
  EXPECT_NEAR(file.info.frequencies_hz[2], 22 * kBinHz, 1e-9);
  EXPECT_EQ(file.info.window_samples, 1024);
  EXPECT_EQ(file.info.step_samples, 512);
  const double k = 2 * std::numbers::pi * 22 * kBinHz / 343.0;
  std::vector<Complex> pressure;
  for (int channel = 0; channel < 6; ++channel) {
    const int row = channel / 3;
    const double r = std::hypot((channel % 3 - 1) * 0.05 - 0.1, (row - 0.5) * 0.04 - 0.02, 0.43);
    pressure.push_back(std::polar(22 * kBinHz * 1.2041 * 1e-3 / 2 / r, -k * r));
  }
  pressure[4] = 0.0;
  const double largest = std::norm(pressure[0]);
  for (std::size_t m = 0; m < 6; ++m) {
    for (std::size_t n = 0; n < 6; ++n) {
      EXPECT_LT(std::abs(element(file, 2, m, n) - pressure[m] * std::conj(pressure[n]) / 2.0), 1e-4 * largest)
          << m << ", " << n;
      EXPECT_EQ(element(file, 1, m, n), std::conj(element(file, 1, n, m)));
      // Hann's window has half the amplitude in the next bin, and nothing two bins away.
      EXPECT_LT(std::abs(element(file, 1, m, n) - pressure[m] * std::conj(pressure[n]) / 8.0), 1e-4 * largest);
      EXPECT_LT(std::abs(element(file, 0, m, n)), 1e-4 * largest);
    }
  }
  const test::CommandResult inspected = test::run_nearfield("inspect " + output);
  EXPECT_EQ(inspected.exit_code, 0) << inspected.output;
  EXPECT_THAT(inspected.output, HasSubstr("8 windows of 1024 samples at 46875 Hz, 512 apart"));
  const test::CommandResult replayed = test::run_nearfield("replay " + output + " -o " + (folder / "i.h5"));
  EXPECT_EQ(replayed.exit_code, 65);
  EXPECT_THAT(replayed.output, HasSubstr("found cross-spectra"));
}

TEST(CsmCommand, AllBinsByTheReferenceEngineAreThoseOfTheDevice) {
  const test::TemporaryFolder folder;
  const std::string capture = csm_capture(folder);
  const std::string options = " --set front_end.kind=decimated_fft --set front_end.window_samples=256 --all-bins ";
  ASSERT_EQ(test::run_nearfield("csm " + capture + " -o " + (folder / "a.h5") + options).exit_code, 0);
  ASSERT_EQ(
      test::run_nearfield("csm " + capture + " -o " + (folder / "b.h5") + options + "--engine reference").exit_code, 0);
  const CrossSpectraFile device = read_cross_spectra(folder / "a.h5");
  const CrossSpectraFile reference = read_cross_spectra(folder / "b.h5");
  EXPECT_EQ(device.info.frequencies_hz.size(), 127U);
  ASSERT_EQ(device.matrices.size(), reference.matrices.size());
  double largest = 0.0;
  double difference = 0.0;
  for (std::size_t i = 0; i < device.matrices.size(); ++i) {
    largest = std::max(largest, std::abs(Complex(reference.matrices[i])));
    difference = std::max(difference, std::abs(Complex(device.matrices[i]) - Complex(reference.matrices[i])));
  }
  EXPECT_LT(difference, 1e-5 * largest);
}

TEST(CsmCommand, RefusesWhatItCannotDo) {
  const test::TemporaryFolder folder;
  const std::string capture = csm_capture(folder);
  const auto refusal = [&](const std::string& options, int code) {
    const test::CommandResult result = test::run_nearfield("csm " + capture + " -o " + (folder / "csm.h5") + options);
    EXPECT_EQ(result.exit_code, code) << result.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "csm.h5"));
    return result.output;
  };
  EXPECT_THAT(refusal(" --bins 1000,1001", 78), HasSubstr("bins: expected 1 to 1000 multiples of 45.7764 Hz"));
  EXPECT_THAT(refusal(" --set front_end.window_samples=4096 --all-bins", 78), HasSubstr("found 2047"));
  EXPECT_THAT(refusal(" --overlap 1", 64), HasSubstr("--overlap: expected a share from 0 to below 1, found 1"));
  EXPECT_THAT(refusal(" --set front_end.window_samples=8192", 65), HasSubstr("c.h5"));
  EXPECT_EQ(test::run_nearfield("csm " + capture + " -o " + capture).exit_code, 64);
}

}  // namespace
}  // namespace nearfield
