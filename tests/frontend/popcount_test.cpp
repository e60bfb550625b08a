#include "frontend/popcount/popcount.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "frontend/front_end_support.hpp"
#include "frontend/popcount/popcount_reference.hpp"
#include "frontend/popcount/settings.hpp"
#include "frontend/test_bits.hpp"

namespace nearfield {
namespace {

using test::Array;
using test::Bench;
using ComplexD = std::complex<double>;
using ComplexF = std::complex<float>;

constexpr double kPi = std::numbers::pi;
constexpr Array kSmall{5, 7, WireLayout::kRowMajor};

FrontEndPlan plan_of(const Array& array, int window_words, std::size_t frequency_count, int order,
                     WordTransform transform = WordTransform::kDot) {
  const std::vector<double> all = {1007.08, 2014.16, 612.0, 14999.0, 7321.0, 777.7, 21000.0,
                                   9000.0,  1234.5,  800.1, 3333.3,  4444.4, 5000.0};
  FrontEndPlan plan;
  plan.geometry = array.geometry();
  plan.layout = array.layout;
  plan.settings.kind = "popcount";
  plan.settings.window_samples = window_words;
  plan.settings.frequencies_hz = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(frequency_count)};
  plan.settings.own.edit<PopcountSettings>() = {.order = order, .transform = transform};
  return plan;
}

struct StreamCase {
  Array array;
  int window_words;
  std::size_t hop_words;
  std::size_t frequency_count;
  int order;
  WordTransform transform = WordTransform::kDot;
  WindowKind window = WindowKind::kHann;
  bool remove_dc = true;
  int frames = 3;
};

class PopcountOfStream : public ::testing::TestWithParam<StreamCase> {};

// Float32 coefficients and sums of some thousand terms of random sign against double: below 1e-6.
constexpr double kTolerance = 1e-5;
// The sliding DFT rotates each block's sum twice, by phasors good to 2e-7; around bin 1 of a short window (612 Hz of
// 488 Hz a bin) the hann window's three terms and the offset then cancel to some hundredth.
constexpr double kSlidingTolerance = 5e-5;

/// A pipeline's stream: the first window, then hops. Where a hop skips bits, the gap is left out on the device; the
/// reference is fed everything. Returns the largest relative L2.
double worst_of_stream(const FrontEndPlan& plan, const StreamCase& stream) {
  std::mt19937 generator(test::fresh_seed());
  const auto window = static_cast<std::size_t>(stream.window_words);
  const std::size_t total = window + stream.hop_words * static_cast<std::size_t>(stream.frames - 1);
  const std::vector<std::uint32_t> wire = test::random_wire(stream.array, total, generator);
  Bench bench(plan);
  const auto expected = reference::make_front_end(plan);
  EXPECT_EQ(bench.front_end->history_words(), 0U);
  EXPECT_EQ(expected->history_words(), 0U);
  EXPECT_THAT(bench.front_end->actual_frequencies_hz(),
              ::testing::Pointwise(::testing::DoubleNear(1e-9), expected->actual_frequencies_hz()));
  std::size_t fed = 0;
  double worst = 0.0;
  for (std::size_t first = 0; first + window <= total; first += stream.hop_words) {
    const std::size_t from = std::max(fed, first);
    bench.front_end->enqueue_bits(from, test::words_of(stream.array, wire, from, first + window - from));
    expected->push_bits(fed, test::words_of(stream.array, wire, fed, first + window - fed));
    fed = first + window;
    worst = std::max(worst, test::relative_l2(bench.spectra(first), expected->spectra(first)));
    EXPECT_EQ(bench.flags().at(0), 0U);
    EXPECT_FALSE(expected->clipped());
  }
  return worst;
}

TEST_P(PopcountOfStream, AgreesWithTheReference) {
  const StreamCase& stream = GetParam();
  FrontEndPlan plan =
      plan_of(stream.array, stream.window_words, stream.frequency_count, stream.order, stream.transform);
  plan.settings.window = stream.window;
  plan.settings.hop_samples = static_cast<int>(stream.hop_words);
  plan.settings.remove_dc = stream.remove_dc;
  plan.settings.incremental = Incremental::kNever;
  const double worst = worst_of_stream(plan, stream);
  EXPECT_LT(worst, kTolerance);
  std::printf("popcount against its reference: relative L2 at most %.2g\n", worst);
  if (stream.transform == WordTransform::kDot) {
    plan.settings.incremental = Incremental::kAlways;
    const double worst_sliding = worst_of_stream(plan, stream);
    EXPECT_LT(worst_sliding, kSlidingTolerance);
    std::printf("incremental popcount against the same: relative L2 at most %.2g\n", worst_sliding);
  }
}

constexpr WordTransform kDot = WordTransform::kDot;
constexpr WordTransform kFft = WordTransform::kFft;
constexpr WindowKind kHann = WindowKind::kHann;
constexpr WindowKind kNone = WindowKind::kNone;
constexpr Array kSorama{32, 32, WireLayout::kSoramaCam};
constexpr Array kLarge{32, 32, WireLayout::kRowMajor};
constexpr Array kSquare{8, 8, WireLayout::kRowMajor};
constexpr Array kWide{16, 64, WireLayout::kRowMajor};
constexpr Array kOdd{12, 20, WireLayout::kRowMajor};
/// Of three and of nine wire words: processors fill the last vector of words up.
constexpr Array kThreeWords{3, 31, WireLayout::kRowMajor};
constexpr Array kNineWords{9, 31, WireLayout::kRowMajor};

INSTANTIATE_TEST_SUITE_P(
    Streams, PopcountOfStream,
    ::testing::Values(StreamCase{kSorama, 1024, 32, 2, 1}, StreamCase{kSorama, 96, 7, 5, 2, kFft},
                      StreamCase{kLarge, 96, 7, 1, 2}, StreamCase{kLarge, 1024, 32, 2, 0, kFft, kNone, false, 2},
                      StreamCase{kSquare, 1000, 1500, 5, 1}, StreamCase{kSquare, 1024, 1, 7, 2, kDot, kNone},
                      StreamCase{kSquare, 1000, 32, 7, 1, kFft, kHann, false}, StreamCase{kWide, 96, 32, 7, 0},
                      StreamCase{kWide, 96, 1500, 2, 1, kFft, kNone},
                      StreamCase{kOdd, 1000, 7, 1, 2, kDot, kHann, true, 12},
                      StreamCase{kOdd, 96, 1500, 2, 0, kDot, kNone, false}, StreamCase{kOdd, 1024, 32, 5, 2, kFft},
                      StreamCase{kOdd, 105, 32, 5, 1, kFft}, StreamCase{kOdd, 105, 100, 13, 1},
                      StreamCase{kSmall, 96, 1, 7, 1, kDot, kHann, true, 300},
                      StreamCase{kSmall, 96, 1, 2, 1, kFft, kHann, true, 300},
                      StreamCase{kSmall, 1024, 1500, 5, 2, kDot, kNone, false},
                      StreamCase{kSmall, 1000, 333, 7, 2, kFft, kNone, true, 8}, StreamCase{kSmall, 2000, 333, 7, 1},
                      StreamCase{{64, 64, WireLayout::kRowMajor}, 96, 32, 1, 1, kDot, kHann, true, 2},
                      StreamCase{kThreeWords, 96, 7, 5, 1}, StreamCase{kThreeWords, 105, 100, 2, 2, kDot, kNone},
                      StreamCase{kNineWords, 96, 32, 7, 1}, StreamCase{kNineWords, 1000, 1500, 2, 2},
                      StreamCase{{1, 1, WireLayout::kRowMajor}, 1024, 32, 2, 1}));

/// Every inner bin of a short window, so that bins 0, 1 and the last ones meet those of the hann window.
TEST(Popcount, FftAgreesWithTheReferenceAtEveryBin) {
  for (const int window_words : {12, 35}) {
    for (const WindowKind window : {kHann, kNone}) {
      FrontEndPlan plan = plan_of(kSmall, window_words, 0, 2, kFft);
      plan.settings.window = window;
      for (int bin = 1; 2 * bin < window_words; ++bin) {
        plan.settings.frequencies_hz.push_back(bin * plan.sample_rate_hz / window_words);
      }
      std::mt19937 generator(test::fresh_seed());
      const auto wire = test::random_wire(kSmall, static_cast<std::size_t>(window_words), generator);
      Bench bench(plan);
      const auto expected = reference::make_front_end(plan);
      bench.front_end->enqueue_bits(0, wire);
      expected->push_bits(0, wire);
      const std::vector<ComplexF> found = bench.spectra(0);
      const std::vector<ComplexD> wanted = expected->spectra(0);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(std::abs(ComplexD(found[i]) - wanted[i]), 0.0, 1e-4)
            << "bin " << 1 + i / kSmall.channels() << " of " << window_words;
      }
    }
  }
}

// One long feed, then the same in uneven pieces: the same to the last bit.
TEST(Popcount, AnyBlockLengthGivesTheSame) {
  FrontEndPlan plan = plan_of(kSmall, 96, 2, 1);
  plan.settings.incremental = Incremental::kNever;  // windows anywhere
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 500, generator);
  Bench whole(plan);
  whole.front_end->enqueue_bits(0, wire);
  Bench pieces(plan);
  std::size_t fed = 0;
  for (const std::size_t words : {1U, 200U, 3U, 96U, 150U, 50U}) {
    pieces.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, words));
    fed += words;
  }
  EXPECT_EQ(whole.spectra(404), pieces.spectra(404));
  EXPECT_EQ(whole.spectra(308), pieces.spectra(308));  // at least the last two windows are kept
}

// An offset of exactly 1/16 of full scale (17 ones in 32 bit-times): alternating words with their last zero made a one.
TEST(Popcount, OffsetsVanishAtLowFrequencies) {
  const auto wire =
      test::make_wire(kSmall, 1024, [](std::size_t, std::size_t time) { return time % 2 != 0 || time % 32 == 0; });
  for (const WordTransform transform : {kDot, kFft}) {
    for (const int order : {0, 1, 2}) {
      FrontEndPlan plan = plan_of(kSmall, 1024, 0, order, transform);
      plan.settings.frequencies_hz = {55.0};
      const double full_scale = full_scale_pa(plan.sensitivity_dbfs);
      Bench with(plan);
      with.front_end->enqueue_bits(0, wire);
      plan.settings.remove_dc = false;
      Bench without(plan);
      without.front_end->enqueue_bits(0, wire);
      for (std::size_t channel = 0; channel < kSmall.channels(); ++channel) {
        // Every word's higher moments are alike too, and meet coefficients that sum to almost 0 as the offset's do.
        EXPECT_LT(std::abs(ComplexD(with.spectra(0)[channel])) / full_scale, 1e-6);
      }
      // 55 Hz is 1.2 bins: a hann window lets 0.4 of 2/16 through. The nearest bin, 1, gives half of it.
      EXPECT_GT(std::abs(ComplexD(without.spectra(0)[0])) / full_scale, 0.03);
    }
  }
}

// Oznaya Angeles 2014, eq. 6.2, then the DFT over the words; divided by the mean of 32 bits' complex response.
TEST(Popcount, OrderZeroWithoutWindowIsTheThesis) {
  std::mt19937 generator(test::fresh_seed());
  for (const WordTransform transform : {kDot, kFft}) {
    FrontEndPlan plan = plan_of(kSmall, 1000, 5, 0, transform);
    plan.settings.window = kNone;
    plan.settings.remove_dc = false;
    const auto wire = test::random_wire(kSmall, 1000, generator);
    const std::vector<int> wire_bits = wire_bit_of_channel(kSmall.layout, kSmall.geometry());
    Bench bench(plan);
    bench.front_end->enqueue_bits(0, wire);
    const auto reference_front_end = reference::make_front_end(plan);
    reference_front_end->push_bits(0, wire);
    std::vector<ComplexD> expected;
    for (const double frequency_hz : bench.front_end->actual_frequencies_hz()) {
      const double radians = 2.0 * kPi * frequency_hz / kBitRateHz;
      ComplexD response = 0.0;
      for (int i = 0; i < 32; ++i) {
        response += std::polar(1.0 / 32.0, radians * i);
      }
      for (std::size_t channel = 0; channel < kSmall.channels(); ++channel) {
        ComplexD sum = 0.0;
        for (std::size_t word = 0; word < 1000; ++word) {
          int ones = 0;
          for (std::size_t i = 0; i < 32; ++i) {
            ones += test::sign_at(kSmall, wire, static_cast<std::size_t>(wire_bits[channel]), 32 * word + i) > 0;
          }
          sum += std::polar(1.0, -radians * 32.0 * static_cast<double>(word)) * (2.0 * ones - 32.0);
        }
        expected.push_back(full_scale_pa(plan.sensitivity_dbfs) * 2.0 / 32000.0 * sum / response);
      }
    }
    const std::vector<ComplexD> of_reference = reference_front_end->spectra(0);
    ASSERT_EQ(of_reference.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(std::abs(of_reference[i] - expected[i]), 0.0, 1e-11);  // of spectra around 0.2 Pa
    }
    EXPECT_LT(test::relative_l2(bench.spectra(0), expected), kTolerance);
  }
}

/// The monic polynomial of degree q = 1, 2, 3 that is orthogonal to all lower ones on i = 0 .. 31.
double gram_polynomial(int q, double place) {
  const double u = place - 15.5;
  return q == 1 ? u : q == 2 ? u * u - 85.25 : u * u * u - 153.25 * u;
}

/// Largest error, full scale 1, that expanding a hann window's DFT vector d to `order` in every word can cause,
/// whatever the bits: the best polynomial is no worse, in the sum of squares, than the one that interpolates d at the
/// roots of the next orthogonal polynomial g, whose error is at most max|d^(order+1)| |g| / (order+1)! (Hermite and
/// Genocchi). With R the same for the response that results are divided by: B + R / (1 - R) (2 + B).
double expansion_bound(int order, std::size_t words, double frequency_hz) {
  const int degree = order + 1;
  const double radians = 2.0 * kPi * frequency_hz / kBitRateHz;
  const double bits = 32.0 * static_cast<double>(words);
  const double power = std::pow(radians, degree);
  // Derivatives of the window itself, by Leibniz' rule: |w^(m)| <= (2 pi / bits)^m / 2.
  const double of_window = (std::pow(radians + 2.0 * kPi / bits, degree) - power) / 2.0;
  double squares = 0.0;
  for (int i = 0; i < 32; ++i) {
    squares += std::pow(gram_polynomial(degree, i) / std::tgamma(degree + 1.0), 2.0);
  }
  double bound = 0.0;
  double response = 0.0;
  for (std::size_t word = 0; word < words; ++word) {
    double weight = 0.0;
    for (std::size_t i = 0; i < 32; ++i) {
      weight = std::max(weight, 0.5 - 0.5 * std::cos(2.0 * kPi * static_cast<double>(32 * word + i) / bits));
    }
    const double norm = 2.0 / (bits / 2.0) * (weight * power + of_window) * std::sqrt(squares);
    bound += norm * std::sqrt(32.0);
    response += norm * power * std::sqrt(squares) / 2.0;
  }
  return bound + response / (1.0 - response) * (2.0 + bound);
}

/// (2 / sum w) sum w[t] s[t] e^{-jwt} of each channel, hann.
std::vector<ComplexD> bit_spectra(const Array& array, const std::vector<std::uint32_t>& wire, double frequency_hz) {
  const std::vector<int> wire_bits = wire_bit_of_channel(array.layout, array.geometry());
  const std::size_t bits = wire.size() / array.wire_words();
  std::vector<ComplexD> sums(array.channels(), 0.0);
  for (std::size_t t = 0; t < bits; ++t) {
    const double turns = static_cast<double>(t) / static_cast<double>(bits);
    const ComplexD factor = std::polar((0.5 - 0.5 * std::cos(2.0 * kPi * turns)) * 4.0 / static_cast<double>(bits),
                                       -2.0 * kPi * frequency_hz / kBitRateHz * static_cast<double>(t));
    for (std::size_t channel = 0; channel < array.channels(); ++channel) {
      const auto wire_bit = static_cast<std::size_t>(wire_bits[channel]);
      sums[channel] += static_cast<double>(test::sign_at(array, wire, wire_bit, t)) * factor;
    }
  }
  return sums;
}

class PopcountExpansion : public ::testing::TestWithParam<std::tuple<int, double>> {};

// Random bits stay far below the bound; bits with the sign of what the expansion leaves out come near it (2/pi of it,
// since they follow the real part only, times the ratio of the polynomial's mean magnitude to its rms, 0.8 to 0.87).
TEST_P(PopcountExpansion, StaysWithinItsBound) {
  const auto [order, frequency_hz] = GetParam();
  constexpr std::size_t kWords = 1024;
  constexpr Array kFew{2, 2, WireLayout::kRowMajor};
  FrontEndPlan plan = plan_of(kFew, kWords, 0, order);
  plan.settings.frequencies_hz = {frequency_hz};
  plan.settings.remove_dc = false;
  Bench bench(plan);
  std::mt19937 generator(test::fresh_seed());
  const auto worst_bit = [&, order = order, frequency_hz = frequency_hz](std::size_t channel, std::size_t time) {
    if (channel != 0) {
      return (generator() & 1U) != 0;
    }
    const double centre = static_cast<double>(time - time % 32) + 15.5;
    const ComplexD turn = std::polar(1.0, -2.0 * kPi * frequency_hz / kBitRateHz * centre);
    const ComplexD left_out = turn * std::pow(ComplexD(0.0, -1.0), order + 1);
    return left_out.real() * gram_polynomial(order + 1, static_cast<double>(time % 32)) > 0.0;
  };
  const auto wire = test::make_wire(kFew, kWords, worst_bit);
  bench.front_end->enqueue_bits(0, wire);
  const std::vector<ComplexF> found = bench.spectra(0);
  const std::vector<ComplexD> exact = bit_spectra(kFew, wire, frequency_hz);
  const double bound = expansion_bound(order, kWords, frequency_hz);
  std::array<double, 4> errors{};
  for (std::size_t channel = 0; channel < errors.size(); ++channel) {
    errors.at(channel) = std::abs(ComplexD(found[channel]) / full_scale_pa(plan.sensitivity_dbfs) - exact[channel]);
    EXPECT_LT(errors.at(channel), bound + 1e-6);  // 1e-6: float32
  }
  std::printf("order %d at %.0f Hz: bound %.3g, worst bits %.3g, random bits %.3g of full scale\n", order, frequency_hz,
              bound, errors[0], errors[1]);
  // The part that the response adds belongs to the tone, which these bits do not hold: 0.27 of 1.27 at the coarsest.
  EXPECT_GT(errors[0] + 1e-6, 0.3 * bound) << "the bound is not needlessly wide";
}

INSTANTIATE_TEST_SUITE_P(Orders, PopcountExpansion,
                         ::testing::Combine(::testing::Values(0, 1, 2), ::testing::Values(1000.0, 2000.0, 10000.0)));

/// Bits of kSmall: in channel 3 one of 50 is a zero in words 150 to 199 (0.96), one of 30 (0.93) in words 250 to 299;
/// everything else is silent.
std::vector<std::uint32_t> loud_wire() {
  return test::make_wire(kSmall, 400, [](std::size_t channel, std::size_t time) {
    const std::size_t word = time / 32;
    if (channel == 3 && word >= 150 && word < 200) {
      return time % 50 != 0;
    }
    if (channel == 3 && word >= 250 && word < 300) {
      return time % 30 != 0;
    }
    return time % 2 != 0;
  });
}

TEST(Popcount, ClippingIsFlaggedInTheWindowsThatHaveIt) {
  for (const WordTransform transform : {kDot, kFft}) {
    const FrontEndPlan plan = plan_of(kSmall, 96, 1, 1, transform);
    Bench bench(plan);
    const auto expected = reference::make_front_end(plan);
    const auto wire = loud_wire();
    // Of the window at 61 the last 7 words are loud: no whole block. At 62 the last 8 are: words 88 to 95, one block.
    for (const auto& [first, clipped] : {std::pair{20, false}, std::pair{61, false}, std::pair{62, true},
                                         std::pair{100, true}, std::pair{192, true}, std::pair{193, false}}) {
      const auto block = test::words_of(kSmall, wire, static_cast<std::size_t>(first), 96);
      bench.front_end->enqueue_bits(static_cast<std::uint64_t>(first), block);
      expected->push_bits(static_cast<std::uint64_t>(first), block);
      (void)bench.spectra(static_cast<std::uint64_t>(first));
      (void)expected->spectra(static_cast<std::uint64_t>(first));
      EXPECT_EQ(bench.flags().at(0), clipped ? std::uint32_t{kFlagClipped} : 0U) << first;
      EXPECT_EQ(expected->clipped(), clipped) << first;
    }
  }
}

// The lanes that fill the last vector of nine wire words have bits of the first ones, whose channels are dead here.
TEST(Popcount, LanesWithoutAChannelDoNotClip) {
  FrontEndPlan plan = plan_of(kNineWords, 64, 2, 1);
  plan.settings.hop_samples = 32;
  for (int channel = 0; channel < 7 * kBitsPerWord; ++channel) {
    plan.dead_channels.push_back(channel);
  }
  std::mt19937 generator(test::fresh_seed());
  std::vector<std::uint32_t> wire = test::random_wire(kNineWords, 96, generator);
  for (std::size_t i = 0; i < wire.size(); ++i) {
    wire[i] = i % 9 < 7 ? ~0U : wire[i];
  }
  Bench bench(plan);
  bench.front_end->enqueue_bits(0, wire);
  for (const std::uint64_t first : {0U, 32U}) {
    (void)bench.spectra(first);
    EXPECT_EQ(bench.flags().at(0), 0U) << first;
  }
}

TEST(Popcount, ClippingOfADeadChannelDoesNotCountAndOtherFlagsStay) {
  for (const WordTransform transform : {kDot, kFft}) {
    FrontEndPlan plan = plan_of(kSmall, 96, 1, 1, transform);
    const auto wire = loud_wire();
    for (const int dead : {3, 4}) {
      plan.dead_channels = {dead};
      Bench bench(plan);
      const auto expected = reference::make_front_end(plan);
      bench.front_end->enqueue_bits(120, test::words_of(kSmall, wire, 120, 96));
      expected->push_bits(120, test::words_of(kSmall, wire, 120, 96));
      const auto status =
          bench.device.upload<std::uint32_t>(std::vector<std::uint32_t>{kFlagMissingBits, 7, 8, 9}, "test");
      bench.front_end->enqueue_spectra(120, bench.output, status);
      const std::uint32_t flags = kFlagMissingBits | (dead == 3 ? 0U : std::uint32_t{kFlagClipped});
      EXPECT_EQ(bench.device.download(status, "test"), (std::vector<std::uint32_t>{flags, 7, 8, 9}));
      (void)expected->spectra(120);
      EXPECT_EQ(expected->clipped(), dead != 3);
    }
  }
}

TEST(Popcount, DotTakesAnyFrequencyAndFftSnaps) {
  FrontEndPlan plan = plan_of(kSmall, 1024, 2, 1);
  plan.settings.frequencies_hz = {1000.0, 1234.567};
  EXPECT_EQ(make_front_end(ocl::Device::open({}), plan)->actual_frequencies_hz(), plan.settings.frequencies_hz);
  plan.settings.own.edit<PopcountSettings>().transform = kFft;
  const double bin_hz = plan.sample_rate_hz / 1024;
  EXPECT_THAT(make_front_end(ocl::Device::open({}), plan)->actual_frequencies_hz(),
              ::testing::Pointwise(::testing::DoubleNear(1e-9), std::vector<double>{22 * bin_hz, 27 * bin_hz}));
}

TEST(Popcount, RefusesWhatCannotWork) {
  FrontEndPlan plan = plan_of(kSmall, 96, 1, 3);
  plan.input_is_bits = false;
  const ocl::Device device = ocl::Device::open({});
  for (const bool on_device : {true, false}) {
    try {
      if (on_device) {
        (void)make_front_end(device, plan);
      } else {
        (void)reference::make_front_end(plan);
      }
      ADD_FAILURE() << "expected a ConfigError";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("front_end.kind: popcount"));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("found samples in pascal"));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("front_end.popcount.order: expected 0 to 2, found 3"));
    }
  }
  plan = plan_of(kSmall, 96, 1, -1);
  EXPECT_THROW((void)make_front_end(device, plan), ConfigError);
}

TEST(Popcount, RefusesWrongUse) {
  std::mt19937 generator(1);
  FrontEndPlan plan = plan_of(kSmall, 96, 2, 1);
  plan.settings.incremental = Incremental::kNever;  // windows anywhere
  Bench bench(plan);
  const auto wire = test::random_wire(kSmall, 100, generator);
  EXPECT_THROW(bench.front_end->enqueue_samples(0, std::vector<float>(35)), Error);
  EXPECT_THROW(bench.front_end->enqueue_bits(0, std::span<const std::uint32_t>(wire).first(65)), Error);
  EXPECT_THROW(bench.spectra(0), Error) << "nothing was fed";
  bench.front_end->enqueue_bits(10, wire);
  EXPECT_THROW(bench.spectra(9), Error);
  EXPECT_THROW(bench.spectra(15), Error);
  EXPECT_NO_THROW(bench.spectra(14));
  const auto small = bench.device.allocate<ComplexF>(69, "test");
  EXPECT_THROW(bench.front_end->enqueue_spectra(14, small, bench.status), Error);
}

}  // namespace
}  // namespace nearfield
