#include "pipeline/microphones/microphone_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "core/error.hpp"
#include "files/files.hpp"
#include "support/command.hpp"
#include "support/recordings.hpp"

/// Statistics of signals whose figures are known in closed form.
namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kRate_hz = 48000.0;
constexpr int kMiddle = 0;  // number of the third octave at 1 kHz

double sine(double amplitude, double frequency_hz, std::size_t sample, double rate_hz = kRate_hz) {
  return amplitude * std::sin(2.0 * std::numbers::pi * frequency_hz * static_cast<double>(sample) / rate_hz + 0.3);
}

/// Signals [channel] of `samples` samples in pascal.
MicrophoneStatistics statistics_of(std::size_t samples,
                                   const std::vector<std::function<double(std::size_t sample)>>& signals) {
  const test::TemporaryFolder folder;
  std::vector<float> values;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (const auto& signal : signals) {
      values.push_back(static_cast<float>(signal(sample)));
    }
  }
  write_time_data(folder / "t.h5", kRate_hz, static_cast<int>(signals.size()), values);
  return statistics_of_file(folder / "t.h5", {}).value();
}

double band_db(const MicrophoneStatistics& all, std::size_t microphone, int number) {
  const auto at = std::find(all.centres.begin(), all.centres.end(), number);
  EXPECT_NE(at, all.centres.end());
  return all.level_db(all.microphones[microphone].bands_rms.at(static_cast<std::size_t>(at - all.centres.begin())));
}

TEST(MicrophoneStatistics, AreThoseOfASineWithAnOffset) {
  constexpr double kTone_hz = 1003.7;  // between two bins
  const MicrophoneStatistics all = statistics_of(48000, {[](std::size_t n) { return 0.25 + sine(2.0, kTone_hz, n); },
                                                         [](std::size_t n) { return sine(0.02, kTone_hz, n); }});
  const MicrophoneStatistic& one = all.microphones[0];
  EXPECT_TRUE(all.is_whole);
  EXPECT_EQ(all.unit, SignalUnit::kPascal);
  const double level_db = 20.0 * std::log10(2.0 / std::numbers::sqrt2 / 20e-6);
  EXPECT_NEAR(all.level_db(one.level.rms), level_db, 0.002);  // of no whole number of periods
  EXPECT_NEAR(one.level.mean, 0.25, 1e-3);
  EXPECT_NEAR(one.level.peak, 2.25, 1e-3);
  EXPECT_NEAR(one.line_hz, kTone_hz, 0.05);
  EXPECT_NEAR(all.level_db(one.line_rms), level_db, 0.02);  // a Hann window's side lobes are left out
  EXPECT_NEAR(band_db(all, 0, kMiddle), level_db, 0.01);
  EXPECT_LT(band_db(all, 0, kMiddle + 3), level_db - 80.0);
  EXPECT_LT(band_db(all, 0, all.centres.front()), level_db - 80.0) << "the offset does not leak";
  EXPECT_THAT(one.remarks, IsEmpty());
  EXPECT_THAT(all.microphones[1].remarks, ElementsAre(SignalRemark::kSoft)) << "40 dB below";
}

// Third octaves of white noise have shares of its power as their widths are shares of half the rate, whatever bins
// their edges cut.
TEST(MicrophoneStatistics, ThirdOctavesOfNoiseGrowWithTheirWidths) {
  std::mt19937 generator(3U);
  std::normal_distribution<double> noise(0.0, 1.0);
  constexpr std::size_t kWindows = 256;
  constexpr std::size_t kSamples = 4096 * kWindows;
  const MicrophoneStatistics all = statistics_of(kSamples, {[&](std::size_t /*n*/) { return noise(generator); }});
  EXPECT_EQ(all.centres.size(), 26U) << "63 Hz to 20 kHz: the band at 50 Hz is narrower than a bin";
  for (const int number : all.centres) {
    const double centre_hz = 1000.0 * std::pow(10.0, number / 10.0);
    const double width_hz = centre_hz * (std::pow(10.0, 0.05) - std::pow(10.0, -0.05));
    const double expected_db = 10.0 * std::log10(width_hz / (kRate_hz / 2.0)) - 20.0 * std::log10(20e-6);
    // Standard deviation 4.3 dB / sqrt(values); neighbouring bins of a Hann window share 2/3 of their information.
    const double values = static_cast<double>(kWindows) * std::max(1.0, width_hz / (2.0 * all.bin_hz));
    EXPECT_NEAR(band_db(all, 0, number), expected_db, 4.0 * 4.34 / std::sqrt(values)) << centre_hz;
  }
}

TEST(MicrophoneStatistics, NominalCentresAreThoseOfTheStandard) {
  EXPECT_DOUBLE_EQ(nominal_centre_hz(0), 1000.0);
  EXPECT_DOUBLE_EQ(nominal_centre_hz(-15), 31.5);
  EXPECT_DOUBLE_EQ(nominal_centre_hz(-1), 800.0);
  EXPECT_DOUBLE_EQ(nominal_centre_hz(12), 16000.0);
}

TEST(MicrophoneStatistics, NameSilentConstantInvalidAndHugeSignals) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto tone = [](std::size_t n) { return sine(1.0, 1000.0, n); };
  const MicrophoneStatistics all = statistics_of(
      9600,
      {[](std::size_t /*n*/) { return 0.0; }, [](std::size_t /*n*/) { return 0.7; },
       [](std::size_t /*n*/) { return kNan; }, [&](std::size_t n) { return n == 100 ? kNan : tone(n); }, tone,
       [&](std::size_t n) { return std::round(32767.0 * tone(n)); }, [&](std::size_t n) { return 20.0 + tone(n); }});
  EXPECT_THAT(all.microphones[0].remarks, ElementsAre(SignalRemark::kSilent));
  EXPECT_THAT(all.microphones[1].remarks, ElementsAre(SignalRemark::kConstant));
  EXPECT_THAT(all.microphones[1].bands_rms, IsEmpty());
  EXPECT_THAT(all.microphones[2].remarks, ElementsAre(SignalRemark::kNotFinite));
  EXPECT_THAT(all.microphones[3].remarks, ElementsAre(SignalRemark::kNotFinite));
  EXPECT_EQ(all.microphones[3].level.non_finite, 1U);
  EXPECT_NEAR(all.microphones[3].line_hz, 1000.0, 0.05) << "of the windows without it";
  EXPECT_THAT(all.microphones[4].remarks, IsEmpty());
  EXPECT_THAT(all.microphones[5].remarks, ElementsAre(SignalRemark::kHuge, SignalRemark::kLoud));
  EXPECT_THAT(all.microphones[6].remarks, ElementsAre(SignalRemark::kOffset));
}

TEST(MicrophoneStatistics, CountClippedSamples) {
  std::size_t clipped = 0;
  const MicrophoneStatistics floats = statistics_of(9600, {[&](std::size_t n) {
                                                             const double value = sine(2.0, 100.0, n);
                                                             clipped += std::abs(value) >= 1.5 ? 1U : 0U;
                                                             return std::clamp(value, -1.5, 1.5);
                                                           },
                                                           [](std::size_t n) { return sine(1.5, 100.0, n); }});
  EXPECT_EQ(floats.microphones[0].overloaded, clipped);
  EXPECT_THAT(floats.microphones[0].remarks, ElementsAre(SignalRemark::kOverloaded));
  EXPECT_EQ(floats.microphones[1].overloaded, 0U);
}

/// One-bit words of a second-order modulator for 8 x 8 microphones: tones of `amplitude` of full scale, of half that in
/// the odd channels, and of 1.2 in channel 5.
std::vector<std::uint32_t> bits_of_tone(double amplitude, double frequency_hz, std::size_t bit_times) {
  std::vector<std::uint32_t> words(2 * bit_times);
  for (std::size_t channel = 0; channel < 64; ++channel) {
    const double gain = channel == 5 ? 1.2 : channel % 2 == 1 ? 0.5 * amplitude : amplitude;
    double first = 0.0;
    double second = 0.0;
    for (std::size_t t = 0; t < bit_times; ++t) {
      const double output = second >= 0.0 ? 1.0 : -1.0;
      first = std::clamp(first + sine(gain, frequency_hz, t, kBitRateHz) - output, -4.0, 4.0);
      second = std::clamp(second + first - 2.0 * output, -4.0, 4.0);
      words[2 * t + channel / 32] |= (output > 0.0 ? 1U : 0U) << channel % 32;
    }
  }
  return words;
}

void write_capture(const std::string& path, const std::vector<std::uint32_t>& words,
                   std::span<const MissingRun> missing = {}) {
  CaptureInfo info;
  info.measurement = {.geometry = test::small_array(), .standoff_m = 0.03, .sensitivity_dbfs = -26.0};
  info.layout = WireLayout::kRowMajor;
  info.words_per_bit_time = 2;
  CaptureWriter writer(path, info);
  writer.append(words);
  writer.write_missing(missing);
  writer.finish();
}

TEST(MicrophoneStatistics, OfBitsAreWithinATenthOfADecibel) {
  const test::TemporaryFolder folder;
  constexpr double kTone_hz = 1003.7;
  constexpr double kAmplitude = 0.4;
  constexpr std::size_t kBitTimes = 32 * 6000;
  std::vector<std::uint32_t> words = bits_of_tone(kAmplitude, kTone_hz, kBitTimes);
  write_capture(folder / "c.h5", words);
  const MicrophoneStatistics all = statistics_of_file(folder / "c.h5", {}).value();
  ASSERT_EQ(all.microphones.size(), 64U);
  // 1 Pa rms is -26 dBFS, where a full-scale sine is 0 dBFS.
  const double level_db = 20.0 * std::log10(kAmplitude) + 26.0 - 20.0 * std::log10(20e-6);
  for (std::size_t i = 0; i < 64; ++i) {
    const MicrophoneStatistic& one = all.microphones[i];
    if (i == 5) {
      EXPECT_GT(one.overloaded, one.level.samples / 10) << "of 1.2 of full scale";
      continue;
    }
    const double expected_db = level_db - (i % 2 == 1 ? 20.0 * std::log10(2.0) : 0.0);
    EXPECT_NEAR(all.level_db(one.level.rms), expected_db, 0.1) << i;
    EXPECT_NEAR(all.level_db(one.line_rms), expected_db, 0.1) << i;
    EXPECT_NEAR(band_db(all, i, kMiddle), expected_db, 0.1) << i;
    EXPECT_NEAR(one.line_hz, kTone_hz, 0.5) << i;
    EXPECT_EQ(one.overloaded, 0U) << i;
  }

  const MissingRun lost = {.first_bit_time = 32 * 2000 + 7, .bit_times = 32 * 1000};
  for (std::size_t t = lost.first_bit_time; t < lost.first_bit_time + lost.bit_times; ++t) {
    words[2 * t] = words[2 * t + 1] = t % 2 == 0 ? 0U : ~0U;
  }
  write_capture(folder / "lost.h5", words, {&lost, 1});
  const MicrophoneStatistics without = statistics_of_file(folder / "lost.h5", {}).value();
  EXPECT_EQ(without.missing, 1001 + 20U) << "what depends on a missing bit";
  EXPECT_EQ(without.microphones[0].level.samples, 6000 - 20 - 1021U);
  EXPECT_NEAR(without.level_db(without.microphones[0].level.rms), level_db, 0.1);
  EXPECT_THAT(without.microphones[0].remarks, IsEmpty());
}

TEST(MicrophoneStatistics, OfFilesWithoutSignalsDoNotExist) {
  const test::TemporaryFolder folder;
  write_spectra(folder / "s.h5", test::monopole_spectra(20, {800.0}));
  EXPECT_FALSE(statistics_of_file(folder / "s.h5", {}));
  write_capture(folder / "c.h5", std::vector<std::uint32_t>(std::size_t{2} * 32 * 20));
  EXPECT_THROW((void)statistics_of_file(folder / "c.h5", {}), DataError);
}

}  // namespace
}  // namespace nearfield
