#include "simulate/points/signal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace nearfield {
namespace {

TEST(NoiseLines, AreTheMultiplesInTheBand) {
  const NoiseLines lines = noise_lines({500.0, 4000.0}, 0.1);
  EXPECT_EQ(lines.first, 50U);
  EXPECT_EQ(lines.count, 350U);  // 500, 510, ... 3990 Hz
  EXPECT_DOUBLE_EQ(lines.share({500.0, 4000.0}), 1.0);
  EXPECT_DOUBLE_EQ(lines.share({1000.0, 2000.0}), 100.0 / 350.0);
  EXPECT_EQ(lines.share({4000.0, 8000.0}), 0.0);
  EXPECT_EQ(lines.share({0.0, 505.0}), 1.0 / 350.0);
  EXPECT_EQ(noise_lines({0.0, 100.0}, 0.1).first, 1U) << "no constant";
  EXPECT_EQ(noise_lines({501.0, 509.0}, 0.1).count, 0U);
}

TEST(NoisePeriod, IsAWholePartOfTheDuration) {
  EXPECT_EQ(noise_period_s(0.06), 0.06);
  EXPECT_EQ(noise_period_s(20.0), 20.0);
  EXPECT_EQ(noise_period_s(50.0), 50.0 / 3);
}

std::complex<double> line_of(const SignalTable& table, double frequency_hz, double period_s, double start_s) {
  constexpr int kSamples = 4096;
  std::complex<double> sum = 0.0;
  for (int i = 0; i < kSamples; ++i) {
    const double t = start_s + period_s * i / kSamples;
    sum += table.at(t) * std::polar(2.0 / kSamples, -2 * std::numbers::pi * frequency_hz * t);
  }
  return sum;
}

// All lines of the band have the same amplitude, those beside it none, and the phases look like none of each other's.
TEST(MakeNoise, HasEqualLinesInItsBandAlone) {
  constexpr double kPeriod = 0.05;
  const SignalTable table = make_noise(noise_lines({1000.0, 6000.0}, kPeriod), 3, 7);
  std::complex<double> directions = 0.0;
  for (int line = 1; line <= 330; ++line) {
    const double frequency_hz = line / kPeriod;
    const std::complex<double> found = line_of(table, frequency_hz, kPeriod, 0.0);
    if (line >= 50 && line < 300) {
      const double expected = std::sqrt(2.0 / 250);
      EXPECT_NEAR(std::abs(found), expected, 1e-6 * expected) << line;
      directions += found / std::abs(found);
    } else {
      EXPECT_LT(std::abs(found), 1e-7) << line;
    }
  }
  EXPECT_LT(std::abs(directions) / 250, 4 / std::sqrt(250.0));  // of random phases: beyond 4 with a chance of 1e-7
}

TEST(MakeNoise, HasAMeanSquareOfOneAndRepeats) {
  constexpr double kPeriod = 0.02;
  const SignalTable table = make_noise(noise_lines({300.0, 5000.0}, kPeriod), 5, 1);
  double power = 0.0;
  for (int i = 0; i < 1000; ++i) {  // more than twice the highest line
    const double value = table.at(i * kPeriod / 1000);
    power += value * value / 1000;
    EXPECT_NEAR(table.at(i * kPeriod / 1000 + 3 * kPeriod), value, 1e-6);
    EXPECT_NEAR(table.at(i * kPeriod / 1000 - 2 * kPeriod), value, 1e-6);
  }
  EXPECT_NEAR(power, 1.0, 1e-6);
}

// One line alone is a sine at any time: the polynomial between the table's points errs by 225/46080 w^6, with w the
// turn from point to point, at most: 7e-6 at 20 kHz and 375 kHz.
TEST(SignalTable, InterpolatesUpTo20Khz) {
  constexpr double kPeriod = 0.04;
  const SignalTable table = make_noise(noise_lines({19990.0, 20005.0}, kPeriod), 1, 1);
  const std::complex<double> phasor = line_of(table, 20000.0, kPeriod, 0.0);
  for (int i = 0; i < 3000; ++i) {
    const double t = i * 1.37e-5;
    const double expected = (phasor * std::polar(1.0, 2 * std::numbers::pi * 20000.0 * t)).real();
    EXPECT_NEAR(table.at(t), expected, 2e-5 * std::sqrt(2.0));
  }
}

TEST(SignalTable, IsSilentBeyondTheEndsOfARecording) {
  const std::vector<float> ones(100, 1.0F);
  const SignalTable table(ones, 1000.0, false);
  EXPECT_EQ(table.at(-0.0011), 0.0);
  EXPECT_EQ(table.at(0.1001), 0.0);
  EXPECT_NEAR(table.at(0.05), 1.0, 1e-12);
  EXPECT_NEAR(table.at(0.05037), 1.0, 1e-12) << "weights sum to 1";
}

}  // namespace
}  // namespace nearfield
