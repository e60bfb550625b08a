#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/geometry.hpp"
#include "simulate/bit_synthesizer.hpp"
#include "simulate/spectrum.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;
using test::bits_of;
using test::hann_dft;

constexpr std::size_t kWindowBits = 32768;
constexpr double kBinHz = kBitRateHz / kWindowBits;
constexpr double kBandHz = 15000.0;
constexpr std::size_t kLanes = SigmaDelta32::kLanes;

double gain(const NoiseTransfer& transfer, double frequency_hz) {
  const Complex z_inverse = std::polar(1.0, -2 * pi * frequency_hz / kBitRateHz);
  Complex numerator = 0.0;
  Complex denominator = 0.0;
  for (int i = 4; i >= 0; --i) {
    numerator = numerator * z_inverse + transfer.numerator[static_cast<std::size_t>(i)];
    denominator = denominator * z_inverse + transfer.denominator[static_cast<std::size_t>(i)];
  }
  return std::abs(numerator / denominator);
}

/// The tone of a lane: its own bin, level and phase.
struct LaneTone {
  double bin;
  double amplitude;
  double phase_rad;
};

LaneTone tone_of(std::size_t lane) {
  constexpr std::array<double, 3> kLevelsDbfs = {-10.0, -20.0, -46.0};
  return {11.0 + 10.0 * static_cast<double>(lane), std::pow(10.0, kLevelsDbfs[lane % 3] / 20),
          0.7 * static_cast<double>(lane)};
}

std::vector<std::uint32_t> modulated_tones(SigmaDeltaOrder order, std::uint64_t seed, std::size_t bits) {
  std::vector<double> input(bits * kLanes);
  for (std::size_t n = 0; n < bits; ++n) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const LaneTone tone = tone_of(lane);
      input[n * kLanes + lane] =
          tone.amplitude * std::cos(2 * pi * tone.bin * static_cast<double>(n) / kWindowBits + tone.phase_rad);
    }
  }
  std::vector<std::uint32_t> words(bits);
  SigmaDelta32(order, seed, 0).modulate(input, words);
  return words;
}

/// Power of white quantisation error of variance 1/3, shaped and summed over the band.
double expected_noise_power(const NoiseTransfer& transfer) {
  double power = 0.0;
  for (double f = kBinHz / 2; f < kBandHz; f += kBinHz) {
    power += std::pow(gain(transfer, f), 2) * kBinHz * 2 / kBitRateHz / 3;
  }
  return power;
}

/// Power over the band except round the tone. Hann's noise bandwidth is 1.5 bins.
double noise_power(const std::vector<double>& samples, double tone_bin) {
  double power = 0.0;
  for (double bin = 1; bin * kBinHz < kBandHz; bin += 1) {
    if (std::abs(bin - tone_bin) > 2) {
      power += std::norm(hann_dft(samples, bin * kBinHz, kBitRateHz)) / 2 / 1.5;
    }
  }
  return power;
}

class BothOrders : public ::testing::TestWithParam<SigmaDeltaOrder> {};
INSTANTIATE_TEST_SUITE_P(Modulator, BothOrders, ::testing::Values(SigmaDeltaOrder::kSecond, SigmaDeltaOrder::kFourth));

TEST(NoiseTransfer, SecondOrder) {
  const NoiseTransfer transfer = noise_transfer(SigmaDeltaOrder::kSecond);
  EXPECT_NEAR(gain(transfer, kBitRateHz / 2), 4.0, 1e-12);
  EXPECT_NEAR(gain(transfer, 15000.0), std::pow(2 * std::sin(pi * 0.01), 2), 1e-12);
}

TEST(NoiseTransfer, FourthOrderIsAButterworthHighPassOfGainOneAndAHalf) {
  const NoiseTransfer transfer = noise_transfer(SigmaDeltaOrder::kFourth);
  EXPECT_EQ(transfer.denominator[0], 1.0);
  EXPECT_NEAR(gain(transfer, kBitRateHz / 2), 1.5, 1e-9);
  // |H|^2 of a bilinear Butterworth high-pass is g^2 / (1 + (wc/w)^8), w = tan(pi f/F), for one wc.
  const auto cutoff = [&](double f) {
    return std::tan(pi * f / kBitRateHz) * std::pow(std::pow(1.5 / gain(transfer, f), 2) - 1, 1.0 / 8);
  };
  EXPECT_NEAR(cutoff(20000.0), cutoff(100000.0), 1e-6);
}

// Signal gain 1 and no delay: amplitude and phase of each lane's bin. A bin's noise, from the noise transfer function
// at its frequency and white error, is the yardstick; idle tones put single bins above it, but not twentyfold. A
// one-bit quantiser has no gain of its own: its error also holds a part of the signal, at most as large as the signal,
// shaped like all of it.
TEST_P(BothOrders, ToneKeepsAmplitudeAndPhase) {
  const auto words = modulated_tones(GetParam(), 3, kWindowBits);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const LaneTone tone = tone_of(lane);
    const double f = tone.bin * kBinHz;
    const Complex found = hann_dft(bits_of(words, 1, 0, static_cast<unsigned>(lane)), f, kBitRateHz);
    const double bin_noise = std::sqrt(4.0 / 3 * 1.5 / kWindowBits) * gain(noise_transfer(GetParam()), f);
    const double shaped_signal = gain(noise_transfer(GetParam()), f) * tone.amplitude;
    // 1e-8: leakage of the strong noise above the band through Hann's side lobes.
    const double bound = 20 * bin_noise + shaped_signal + 1e-8;
    EXPECT_LT(std::abs(found - std::polar(tone.amplitude, tone.phase_rad)), bound) << "lane " << lane;
  }
}

// In-band noise against the model of white error with variance 1/3, at all three levels. Order 2 loads its quantiser
// more and lies up to 3 dB above; order 4, whose quantiser input stays close to +-1, lies 6 to 9 dB below.
TEST_P(BothOrders, NoiseInTheBand) {
  const auto words = modulated_tones(GetParam(), 4, kWindowBits);
  const double expected = expected_noise_power(noise_transfer(GetParam()));
  for (std::size_t lane = 0; lane < 3; ++lane) {
    const double found = noise_power(bits_of(words, 1, 0, static_cast<unsigned>(lane)), tone_of(lane).bin);
    const double db = 10 * std::log10(found / expected);
    EXPECT_LT(db, 5.0) << "lane " << lane;
    EXPECT_GT(db, -12.0) << "lane " << lane;
  }
}

TEST_P(BothOrders, StableAtMinusTenDbfsForAMillionBits) {
  constexpr std::size_t kBlock = 10000;
  SigmaDelta32 modulators(GetParam(), 5, 0);
  std::vector<double> input(kBlock * kLanes);
  std::vector<std::uint32_t> words(kBlock);
  const double amplitude = std::pow(10.0, -10.0 / 20);
  for (std::size_t block = 0; block < 100; ++block) {
    for (std::size_t n = 0; n < kBlock; ++n) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double f = 20.0 * std::pow(750.0, static_cast<double>(lane) / (kLanes - 1));
        const double t = static_cast<double>(block * kBlock + n) / kBitRateHz;
        input[n * kLanes + lane] = lane % 4 == 0 ? amplitude : amplitude * std::sin(2 * pi * f * t);
      }
    }
    modulators.modulate(input, words);
  }
  for (const std::uint64_t resets : modulators.resets()) {
    EXPECT_EQ(resets, 0U);
  }
}

TEST_P(BothOrders, RunawayIsCountedAndOver) {
  SigmaDelta32 modulators(GetParam(), 5, 0);
  std::vector<double> input(kWindowBits * kLanes);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = i % kLanes == 7 && i < input.size() / 2 ? 1.5 : 0.1;
  }
  std::vector<std::uint32_t> words(kWindowBits);
  modulators.modulate(input, words);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(modulators.resets()[lane] > 0, lane == 7);
  }
  // Afterwards the lane delivers the mean again: 0.1 over 16384 bits, to a few errors of the modulator.
  const std::vector<double> bits = bits_of(words, 1, 0, 7);
  double sum = 0.0;
  constexpr std::size_t kRest = kWindowBits * 3 / 8;
  for (std::size_t n = kWindowBits - kRest; n < kWindowBits; ++n) {
    sum += bits[n];
  }
  EXPECT_NEAR(sum / kRest, 0.1, 1e-3);
}

TEST_P(BothOrders, SeedDecidesEveryBit) {
  const auto first = modulated_tones(GetParam(), 1, 2000);
  EXPECT_EQ(first, modulated_tones(GetParam(), 1, 2000));
  const auto second = modulated_tones(GetParam(), 2, 2000);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    EXPECT_NE(bits_of(first, 1, 0, lane), bits_of(second, 1, 0, lane));
  }
}

TEST_P(BothOrders, LanesStartDifferently) {
  std::vector<double> input(1000 * kLanes, 0.05);
  std::vector<std::uint32_t> words(1000);
  SigmaDelta32(GetParam(), 1, 0).modulate(input, words);
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    EXPECT_NE(bits_of(words, 1, 0, 0), bits_of(words, 1, 0, lane));
  }
}

// The lengths of the blocks in which bits are made do not matter.
TEST_P(BothOrders, BlocksDoNotMatter) {
  const std::size_t bits = 1000;
  std::vector<double> input(bits * kLanes, 0.2);
  std::vector<std::uint32_t> at_once(bits);
  SigmaDelta32(GetParam(), 1, 0).modulate(input, at_once);
  std::vector<std::uint32_t> in_parts(bits);
  SigmaDelta32 modulators(GetParam(), 1, 0);
  const std::size_t cut = 333;
  modulators.modulate(std::span(input).first(cut * kLanes), std::span(in_parts).first(cut));
  modulators.modulate(std::span(input).subspan(cut * kLanes), std::span(in_parts).subspan(cut));
  EXPECT_EQ(at_once, in_parts);
}

}  // namespace
}  // namespace nearfield
