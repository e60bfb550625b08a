#include "simulate/bit_synthesizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "simulate/spectrum.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using test::bits_of;
using test::hann_dft;

constexpr std::size_t kWindowBits = 32768;
constexpr double kBinHz = kBitRateHz / kWindowBits;
constexpr double kToneHz = 22 * kBinHz;

/// At -32 dBFS a second-order modulator's noise in a bin at 1 kHz is 1.5e-7 by the white model; with idle tones up to
/// twenty times that, plus 1.8e-5 of the amplitude (see sigma_delta_test.cpp).
constexpr double kBinError = 20 * 1.5e-7;

std::vector<Complex> ramp_of_phasors(int channels) {
  std::vector<Complex> phasors;
  for (int channel = 0; channel < channels; ++channel) {
    phasors.push_back(std::polar(0.025, 0.1 * channel));
  }
  return phasors;
}

std::vector<std::uint32_t> generate(const BitSynthesizerSettings& settings, std::span<const ArrayTone> tones,
                                    std::size_t bits = kWindowBits) {
  BitSynthesizer synthesizer(settings);
  std::vector<std::uint32_t> words(bits * static_cast<std::size_t>(synthesizer.words_per_bit_time()));
  synthesizer.generate(0, tones, {}, words);
  return words;
}

Complex channel_dft(const std::vector<std::uint32_t>& words, const BitSynthesizerSettings& settings, int channel) {
  const auto wire_bit = static_cast<std::size_t>(
      wire_bit_of_channel(settings.layout, settings.geometry)[static_cast<std::size_t>(channel)]);
  const auto stride = static_cast<std::size_t>(words_per_bit_time(settings.layout, settings.geometry));
  return hann_dft(bits_of(words, stride, wire_bit / 32, wire_bit % 32), kToneHz, kBitRateHz);
}

TEST(BitSynthesizer, EveryChannelHoldsItsTone) {
  for (const ArrayGeometry& geometry : {ArrayGeometry{32, 32, 0.02, 0.02}, ArrayGeometry{5, 7, 0.02, 0.02}}) {
    const BitSynthesizerSettings settings{.layout = default_layout(geometry), .geometry = geometry};
    const ArrayTone tone{kToneHz, ramp_of_phasors(geometry.channels())};
    const auto words = generate(settings, {&tone, 1});
    for (int channel = 0; channel < geometry.channels(); channel += geometry.channels() / 7) {
      const Complex expected = tone.phasors[static_cast<std::size_t>(channel)];
      EXPECT_LT(std::abs(channel_dft(words, settings, channel) - expected), kBinError + 2e-5 * 0.025) << channel;
    }
  }
}

TEST(BitSynthesizer, SpareBitsAndDeadChannelsAreZero) {
  const ArrayGeometry geometry{5, 7, 0.02, 0.02};
  const BitSynthesizerSettings settings{
      .layout = WireLayout::kRowMajor, .geometry = geometry, .dead_channels = {0, 33}, .noise_rms = 0.01};
  const ArrayTone tone{kToneHz, ramp_of_phasors(35)};
  std::uint32_t any_first = 0;
  std::uint32_t any_second = 0;
  const auto words = generate(settings, {&tone, 1}, 1000);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    any_first |= words[i];
    any_second |= words[i + 1];
  }
  EXPECT_EQ(any_first, 0xFFFFFFFEU);
  EXPECT_EQ(any_second, 0x5U);
}

TEST(BitSynthesizer, BlocksDoNotMatter) {
  const ArrayGeometry geometry{6, 8, 0.02, 0.02};
  const BitSynthesizerSettings settings{.layout = WireLayout::kRowMajor,
                                        .geometry = geometry,
                                        .order = SigmaDeltaOrder::kFourth,
                                        .noise_rms = 1e-3,
                                        .dc_offset_range = 0.01};
  const ArrayTone tone{1234.5, ramp_of_phasors(48)};
  const auto at_once = generate(settings, {&tone, 1}, 5000);
  BitSynthesizer synthesizer(settings);
  std::vector<std::uint32_t> in_parts;
  for (const std::size_t count : {1U, 300U, 4096U, 603U}) {
    std::vector<std::uint32_t> part(count * 2);
    synthesizer.generate(in_parts.size() / 2, {&tone, 1}, {}, part);
    in_parts.insert(in_parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(at_once, in_parts);
}

TEST(BitSynthesizer, SamplesEqualTones) {
  const ArrayGeometry geometry{2, 3, 0.02, 0.02};
  const BitSynthesizerSettings settings{.layout = WireLayout::kRowMajor, .geometry = geometry};
  const ArrayTone tone{kToneHz, ramp_of_phasors(6)};
  std::vector<float> samples;
  for (std::size_t n = 0; n < kWindowBits; ++n) {
    for (const Complex phasor : tone.phasors) {
      const double angle = 2 * std::numbers::pi * kToneHz / kBitRateHz * static_cast<double>(n);
      samples.push_back(static_cast<float>((phasor * std::polar(1.0, angle)).real()));
    }
  }
  BitSynthesizer synthesizer(settings);
  std::vector<std::uint32_t> words(kWindowBits);
  synthesizer.generate(0, {}, samples, words);
  for (int channel = 0; channel < 6; ++channel) {
    const Complex expected = tone.phasors[static_cast<std::size_t>(channel)];
    EXPECT_LT(std::abs(channel_dft(words, settings, channel) - expected), kBinError + 2e-5 * 0.025) << channel;
  }
}

// White noise of density d = noise_rms^2 / kNoiseBandHz gives a phasor (peak amplitude) the mean square 2 d * 1.5
// bins, 1.5 being Hann's noise bandwidth. A channel's phasor is one exponential deviate of that.
TEST(BitSynthesizer, NoiseHasTheStatedDensity) {
  const BitSynthesizerSettings settings{.noise_rms = 1e-3};
  const auto words = generate(settings, {});
  double power = 0.0;
  constexpr int kStep = 4;
  constexpr int kTaken = 1024 / kStep;
  for (int channel = 0; channel < 1024; channel += kStep) {
    power += std::norm(channel_dft(words, settings, channel)) / kTaken;
  }
  const double expected = 1e-6 / kNoiseBandHz * 1.5 * kBinHz * 2;
  EXPECT_NEAR(power / expected, 1.0, 0.25);  // four standard errors of 256 exponential deviates
}

TEST(BitSynthesizer, OffsetsDifferAndStayInRange) {
  const BitSynthesizerSettings settings{.dc_offset_range = 0.05};
  const auto words = generate(settings, {});
  double largest = 0.0;
  double sum = 0.0;
  for (unsigned bit = 0; bit < 32; ++bit) {
    double mean = 0.0;
    for (const double sample : bits_of(words, 32, 0, bit)) {
      mean += sample / kWindowBits;
    }
    largest = std::max(largest, std::abs(mean));
    sum += mean * mean / 32;
  }
  EXPECT_LT(largest, 0.05 + 1e-3);
  EXPECT_NEAR(std::sqrt(sum), 0.05 / std::sqrt(3.0), 0.008);  // 32 uniform deviates: 8 % standard error, twice that
}

TEST(BitSynthesizer, OverloadIsReported) {
  const ArrayGeometry geometry{2, 2, 0.02, 0.02};
  const BitSynthesizerSettings settings{
      .layout = WireLayout::kRowMajor, .geometry = geometry, .order = SigmaDeltaOrder::kFourth, .dead_channels = {3}};
  BitSynthesizer synthesizer(settings);
  const ArrayTone tone{1000.0, {0.1, 0.55, 1.4, 1.4}};
  std::vector<std::uint32_t> words(10000);
  synthesizer.generate(0, {&tone, 1}, {}, words);
  const OverloadReport report = synthesizer.report();
  EXPECT_EQ(report.overloaded_channels(), (std::vector<int>{1, 2}));
  EXPECT_NEAR(report.peaks[2], 1.4, 1e-3);
  EXPECT_GT(report.resets[2], 0U);
  EXPECT_EQ(report.peaks[3], 0.0);
  EXPECT_NE(describe(report).find("2 of 4 microphones"), std::string::npos) << describe(report);
}

TEST(BitSynthesizer, RefusesADeadChannelOutsideTheArray) {
  EXPECT_THROW(BitSynthesizer(BitSynthesizerSettings{.dead_channels = {1024}}), ConfigError);
}

}  // namespace
}  // namespace nearfield
