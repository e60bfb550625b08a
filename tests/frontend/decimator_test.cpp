#include "frontend/samples/decimator.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include "frontend/samples/samples_reference.hpp"
#include "frontend/test_bits.hpp"

namespace nearfield {
namespace {

using test::Array;
using ComplexD = std::complex<double>;

/// A bit ring, a decimator and a sample ring of `capacity` samples, fed `block` words at a time.
struct Chain {
  Chain(const Array& of_array, std::size_t block, std::size_t capacity)
      : array(of_array),
        device(ocl::Device::open({})),
        bits(device, array.layout, array.geometry(), block + 1, block),
        samples(device, static_cast<int>(array.channels()), capacity),
        decimator(device, bits, samples, block) {}

  void poison() {
    device.enqueue_fill(bits.packed(), 0xDEADBEEFU, "test");
    device.enqueue_fill(decimator.cic_outputs(), std::int32_t{123456789}, "test");
    device.enqueue_fill(samples.samples(), std::numeric_limits<float>::quiet_NaN(), "test");
  }
  void feed(std::uint64_t first_word, std::span<const std::uint32_t> wire) {
    const std::size_t word_size = kBitsPerWord * array.wire_words();
    const bool continues = bits.enqueue_append(first_word, wire);
    decimator.enqueue(first_word, wire.size() / word_size, continues);
    device.wait();
  }
  /// [sample][channel] of the newest samples.
  std::vector<float> read(std::uint64_t first, std::size_t count) {
    EXPECT_TRUE(samples.span().holds(first, count));
    const std::vector<float> ring = device.download(samples.samples(), "test");
    std::vector<float> values;
    for (std::uint64_t index = first; index < first + count; ++index) {
      const float* row = ring.data() + samples.span().slot_of(index) * array.channels();
      values.insert(values.end(), row, row + array.channels());
    }
    return values;
  }

  Array array;
  ocl::Device device;
  BitRing bits;
  SampleRing samples;
  Decimator decimator;
};

class DecimatorOfArray : public ::testing::TestWithParam<Array> {};

// Blocks of uneven lengths, rings that wrap around, rings poisoned before: every CIC output to the last bit, and the
// samples within float32's rounding of an 80-tap sum (measured 1e-7).
TEST_P(DecimatorOfArray, AgreesWithTheReferenceBlockByBlock) {
  const Array array = GetParam();
  std::mt19937 generator(test::fresh_seed());
  Chain chain(array, 19, 64);
  chain.poison();
  const std::size_t words = 57;
  const std::vector<std::uint32_t> wire = test::random_wire(array, words, generator);
  const std::vector<int> wire_bits = wire_bit_of_channel(array.layout, array.geometry());

  std::vector<reference::Cic> cics(array.channels());
  for (reference::Cic& cic : cics) {  // silence before bit 0
    for (int bit = 0; bit < 64; ++bit) {
      (void)cic.push(bit % 2 != 0 ? 1 : -1);
    }
  }
  std::size_t word = 0;
  for (const std::size_t block : {1U, 19U, 2U, 3U, 17U, 15U}) {
    chain.feed(word, test::words_of(array, wire, word, block));
    const std::vector<std::int32_t> outputs = chain.device.download(chain.decimator.cic_outputs(), "test");
    for (std::size_t channel = 0; channel < array.channels(); ++channel) {
      for (std::size_t bit = 32 * word; bit < 32 * (word + block); ++bit) {
        const auto expected =
            cics[channel].push(test::sign_at(array, wire, static_cast<std::size_t>(wire_bits[channel]), bit));
        if (expected) {
          const std::size_t slot = bit / 8 % chain.decimator.cic_slots();
          ASSERT_EQ(outputs[slot * array.channels() + channel], *expected) << "channel " << channel << " bit " << bit;
        }
      }
    }
    word += block;
  }
  ASSERT_EQ(word, words);

  std::vector<double> expected(words * array.channels());
  const std::vector<double> taps = reference::fir_taps();
  for (std::size_t channel = 0; channel < array.channels(); ++channel) {
    reference::Decimator decimator(taps);
    decimator.start_from_silence();
    for (std::size_t bit = 0; bit < 32 * words; ++bit) {
      const int sign = test::sign_at(array, wire, static_cast<std::size_t>(wire_bits[channel]), bit);
      if (const auto sample = decimator.push(sign)) {
        expected[bit / 32 * array.channels() + channel] = *sample;
      }
    }
  }
  const double difference = test::relative_l2(chain.read(0, words), expected);
  std::printf("samples against the reference: relative L2 %.2g\n", difference);
  EXPECT_LT(difference, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Arrays, DecimatorOfArray, ::testing::ValuesIn(test::arrays()));

constexpr Array kSmall{5, 7, WireLayout::kRowMajor};

// After a gap the history is fed again; what follows is then the same to the last bit as without a gap.
TEST(Decimator, GapWithHistoryFedAgainChangesNothing) {
  std::mt19937 generator(test::fresh_seed());
  constexpr std::size_t kWords = 150, kBlock = 50, kResume = 97;
  const auto wire = test::random_wire(kSmall, kWords, generator);
  Chain whole(kSmall, kBlock, kWords);
  for (std::size_t word = 0; word < kWords; word += kBlock) {
    whole.feed(word, test::words_of(kSmall, wire, word, kBlock));
  }
  Chain broken(kSmall, kBlock, kWords);
  broken.feed(0, test::words_of(kSmall, wire, 0, kBlock));
  const std::size_t again = kResume - kDecimatorHistoryWords;
  broken.feed(again, test::words_of(kSmall, wire, again, kBlock));
  EXPECT_EQ(broken.read(kResume, again + kBlock - kResume), whole.read(kResume, again + kBlock - kResume));
  // One word of history less is too little.
  Chain short_of(kSmall, kBlock, kWords);
  short_of.feed(again + 1, test::words_of(kSmall, wire, again + 1, kBlock));
  EXPECT_NE(short_of.read(kResume, 1), whole.read(kResume, 1));
}

// What precedes a stream that starts late is silence, whatever the rings held.
TEST(Decimator, StartsFromSilenceAnywhere) {
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 30, generator);
  Chain early(kSmall, 30, 64);
  early.feed(0, wire);
  Chain late(kSmall, 30, 64);
  late.poison();
  late.feed(1234567, test::random_wire(kSmall, 30, generator));
  late.feed(98765432109U, wire);
  EXPECT_EQ(late.read(98765432109U, 30), early.read(0, 30));
}

// Full scale comes out as 1, silence as exactly 0.
TEST(Decimator, ConstantBitsAreFullScale) {
  Chain chain(kSmall, 40, 64);
  const std::vector<std::uint32_t> ones(40 * 32 * kSmall.wire_words(), 0xFFFFFFFFU);
  chain.feed(0, ones);
  for (const float value : chain.read(kDecimatorHistoryWords, 10)) {
    EXPECT_NEAR(value, 1.0F, 5e-7F);
  }
  std::vector<std::uint32_t> silent(40 * 32 * kSmall.wire_words());
  for (std::size_t i = 0; i < silent.size(); ++i) {
    silent[i] = silence_word(i / kSmall.wire_words());
  }
  chain.feed(100, silent);
  for (const float value : chain.read(100, 40)) {
    EXPECT_EQ(value, 0.0F);
  }
}

TEST(Decimator, RefusesWordsThatTheBitRingHasNot) {
  Chain chain(kSmall, 10, 64);
  EXPECT_THROW(chain.decimator.enqueue(0, 1, true), Error);
  std::mt19937 generator(1);
  chain.feed(0, test::random_wire(kSmall, 10, generator));
  EXPECT_THROW(chain.decimator.enqueue(5, 6, true), Error);
  EXPECT_THROW(chain.decimator.enqueue(0, 0, true), Error);
}

/// Bits that repeat every `period` bit-times, for an odd period: 32 and the period are then coprime, so the samples
/// repeat every `period` samples too, and no two components of the bits fold onto the same component of the samples.
/// Component p of the bits, at p F / period, lands alone on component 32 p mod period of the samples, and their ratio
/// is the response of the chain at that frequency: no noise, no other alias in between.
class PeriodicSweep {
 public:
  PeriodicSweep(const Array& array, std::size_t period, const std::function<bool(std::size_t, std::size_t)>& bit)
      : array_(array), period_(period), signs_(period * array.channels()), samples_(period * array.channels()) {
    for (std::size_t time = 0; time < period; ++time) {
      for (std::size_t channel = 0; channel < array.channels(); ++channel) {
        signs_[time * array.channels() + channel] = bit(channel, time) ? 1.0 : -1.0;
      }
    }
    run();
  }
  /// Of the bits at p F / period, phase as of bit 0.
  [[nodiscard]] ComplexD of_bits(std::size_t channel, std::size_t p) const {
    return component(signs_, channel, p, 0.0);
  }
  /// Where those end up in the samples, phase as of the newest bit of sample 0, bit 31.
  [[nodiscard]] ComplexD of_samples(std::size_t channel, std::size_t p) const {
    const double turns = static_cast<double>(p * 31 % period_) / static_cast<double>(period_);
    return component(samples_, channel, 32 * p % period_, turns);
  }

 private:
  void run() {
    constexpr std::size_t kBlock = 256;
    Chain chain(array_, kBlock, kBlock);
    const std::size_t end = period_ + kDecimatorHistoryWords;
    for (std::size_t word = 0; word < end; word += kBlock) {
      const std::size_t words = std::min(kBlock, end - word);
      chain.feed(word, test::make_wire(array_, words, [&](std::size_t channel, std::size_t time) {
                   return signs_[(32 * word + time) % period_ * array_.channels() + channel] > 0.0;
                 }));
      const std::vector<float> values = chain.read(word, words);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t sample = word + i / array_.channels();
        if (sample >= kDecimatorHistoryWords) {
          samples_[sample % period_ * array_.channels() + i % array_.channels()] = static_cast<double>(values[i]);
        }
      }
    }
  }
  [[nodiscard]] ComplexD component(const std::vector<double>& values, std::size_t channel, std::size_t p,
                                   double turns_before) const {
    ComplexD sum = 0.0;
    for (std::size_t n = 0; n < period_; ++n) {
      const double turns = static_cast<double>(n * p % period_) / static_cast<double>(period_) + turns_before;
      sum += values[n * array_.channels() + channel] * std::polar(1.0, -2.0 * std::numbers::pi * turns);
    }
    return sum / static_cast<double>(period_);
  }

  Array array_;
  std::size_t period_;
  std::vector<double> signs_;    ///< [bit-time][channel], one period
  std::vector<double> samples_;  ///< [sample][channel], one period
};

constexpr double kPassBandHz = 15000.0;
constexpr double kSampleRateHz = kBitRateHz / kDecimation;

double to_db(double ratio) { return 20.0 * std::log10(ratio); }

/// Gathers gains over frequency into ripple and rejection.
struct Figures {
  double highest = 0.0, lowest = 10.0, worst_alias = 0.0, worst_alias_hz = 0.0;
  int passed = 0, folded = 0;
  void add(double frequency_hz, double gain) {
    if (frequency_hz <= kPassBandHz) {
      highest = std::max(highest, gain);
      lowest = std::min(lowest, gain);
      ++passed;
    } else if (std::abs(std::remainder(frequency_hz, kSampleRateHz)) <= kPassBandHz) {
      if (gain > worst_alias) {
        worst_alias = gain;
        worst_alias_hz = frequency_hz;
      }
      ++folded;
    }
  }
  void print(const char* name) const {
    std::printf(
        "%s: %d tones to 15 kHz, gain %+.6f to %+.6f dB; %d tones that fold onto 0 to 15 kHz, worst %.1f dB at "
        "%.0f Hz\n",
        name, passed, to_db(lowest), to_db(highest), folded, to_db(worst_alias), worst_alias_hz);
  }
  void check() const {
    EXPECT_LT(to_db(highest), 0.02);
    EXPECT_GT(to_db(lowest), -0.02);
    EXPECT_LT(to_db(worst_alias / lowest), -90.0);
  }
};

// One square wave from a numerically controlled oscillator per microphone, 1023 frequencies over the whole band at
// once.
TEST(DecimatorSweep, SquareWaveTones) {
  constexpr std::size_t kPeriod = 2047;
  const PeriodicSweep sweep({32, 32, WireLayout::kSoramaCam}, kPeriod, [](std::size_t channel, std::size_t time) {
    return (4 * time * channel / kPeriod + 1) / 2 % 2 == 0;  // the sign of a cosine of channel/period turns a bit
  });
  Figures figures;
  for (std::size_t p = 1; p <= kPeriod / 2; ++p) {
    const double frequency_hz = static_cast<double>(p) * kBitRateHz / kPeriod;
    const double tone = std::abs(sweep.of_bits(p, p));
    ASSERT_GT(tone, 0.6) << p;  // 2/pi: the tone dominates its microphone's bits
    figures.add(frequency_hz, std::abs(sweep.of_samples(p, p)) / tone);
  }
  figures.print("square waves through the kernel");
  EXPECT_GE(figures.passed, 20);
  EXPECT_GE(figures.folded, 600);
  figures.check();
}

// Random bits that repeat hold every frequency at once; the least-squares ratio over the microphones is the complex
// response, which must be the one that the plan divides by.
TEST(DecimatorSweep, ComplexResponseIsThePlans) {
  constexpr std::size_t kPeriod = 4095;
  std::mt19937 generator(test::fresh_seed());
  std::vector<bool> bits(kPeriod * 8);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = (generator() & 1U) != 0;
  }
  const Array array{2, 4, WireLayout::kRowMajor};
  const PeriodicSweep sweep(array, kPeriod,
                            [&](std::size_t channel, std::size_t time) { return bits[channel * kPeriod + time]; });
  const DecimatorDesign design = design_decimator();
  Figures figures;
  double worst_difference = 0.0;
  for (std::size_t p = 1; p <= kPeriod / 2; ++p) {
    ComplexD product = 0.0;
    double power = 0.0;
    for (std::size_t channel = 0; channel < array.channels(); ++channel) {
      const ComplexD input = sweep.of_bits(channel, p);
      product += sweep.of_samples(channel, p) * std::conj(input);
      power += std::norm(input);
    }
    const double frequency_hz = static_cast<double>(p) * kBitRateHz / kPeriod;
    const ComplexD measured = product / power;
    figures.add(frequency_hz, std::abs(measured));
    worst_difference = std::max(worst_difference, std::abs(measured - design.response(frequency_hz, kBitRateHz)));
  }
  figures.print("repeating noise through the kernel");
  std::printf("largest difference from the plan's complex response: %.2g\n", worst_difference);
  figures.check();
  EXPECT_LT(worst_difference, 1e-5);  // float32 rounding, larger where all eight channels have little power
}

}  // namespace
}  // namespace nearfield
