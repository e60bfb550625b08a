#include "frontend/walsh_fourier/walsh_fourier.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "frontend/front_end_support.hpp"
#include "frontend/test_bits.hpp"
#include "frontend/walsh_fourier/settings.hpp"
#include "frontend/walsh_fourier/walsh_fourier_reference.hpp"

namespace nearfield {
namespace {

using test::Array;
using test::Bench;
using ComplexD = std::complex<double>;
using ComplexF = std::complex<float>;

constexpr double kTwoPi = 2.0 * std::numbers::pi;
constexpr double kSampleRateHz = kBitRateHz / kBitsPerWord;
constexpr Array kSmall{5, 7, WireLayout::kRowMajor};
constexpr Array kTiny{1, 3, WireLayout::kRowMajor};

FrontEndPlan plan_of(const Array& array, int window_samples, std::size_t frequency_count, WalshVariant variant,
                     int coefficients) {
  const std::vector<double> all = {2014.16, 1007.08, 7321.0,  14999.0, 777.7,  3000.0, 21000.0,
                                   4000.0,  5000.0,  6000.0,  7000.0,  8000.0, 9000.0, 10000.0,
                                   11000.0, 12000.0, 13000.0, 16000.0, 17000.0};
  FrontEndPlan plan;
  plan.geometry = array.geometry();
  plan.layout = array.layout;
  plan.settings.kind = "walsh_fourier";
  plan.settings.window_samples = window_samples;
  plan.settings.frequencies_hz = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(frequency_count)};
  for (double& frequency_hz : plan.settings.frequencies_hz) {
    frequency_hz = std::max(frequency_hz, kSampleRateHz / window_samples);  // bin 0 has no phasor
  }
  plan.settings.own.edit<WalshFourierSettings>() = {.variant = variant, .coefficients = coefficients, .threshold = 0.0};
  return plan;
}

FrontEndPlan plan_with(FrontEndPlan plan, WalshVariant variant) {
  plan.settings.own.edit<WalshFourierSettings>().variant = variant;
  return plan;
}

constexpr std::array<WalshVariant, 3> kVariants = {WalshVariant::kPrecomputed, WalshVariant::kComputed,
                                                   WalshVariant::kFast};

// Integer sums are exact; float32 weights and at most 32768 float32 additions leave less than 1e-5 (issue 3).
constexpr double kTolerance = 1e-5;

struct StreamCase {
  Array array;
  int window_samples;
  std::size_t hop_samples;
  std::size_t frequency_count;
  int coefficients = 40;
  double threshold = 0.0;
  WindowKind window = WindowKind::kHann;
  bool remove_dc = true;
};

class WalshFourierOfStream : public ::testing::TestWithParam<StreamCase> {};

// A pipeline's stream; where a hop skips bits, the gap is left out.
TEST_P(WalshFourierOfStream, EveryVariantAgreesWithTheReference) {
  const StreamCase& stream = GetParam();
  FrontEndPlan plan =
      plan_of(stream.array, stream.window_samples, stream.frequency_count, WalshVariant::kFast, stream.coefficients);
  plan.settings.own.edit<WalshFourierSettings>().threshold = stream.threshold;
  plan.settings.window = stream.window;
  plan.settings.remove_dc = stream.remove_dc;
  std::mt19937 generator(test::fresh_seed());
  const auto window = static_cast<std::size_t>(stream.window_samples);
  const std::size_t total = window + 2 * stream.hop_samples;
  const std::vector<std::uint32_t> wire = test::random_wire(stream.array, total, generator);
  // precomputed and computed keep the same set, fast may keep another one.
  const auto direct = reference::make_front_end(plan_with(plan, WalshVariant::kComputed));
  const auto fast = reference::make_front_end(plan_with(plan, WalshVariant::kFast));
  std::vector<std::unique_ptr<Bench>> benches;
  for (const WalshVariant variant : kVariants) {
    const auto& expected = variant == WalshVariant::kFast ? fast : direct;
    benches.push_back(std::make_unique<Bench>(plan_with(plan, variant)));
    EXPECT_EQ(benches.back()->front_end->history_words(), 0U);
    EXPECT_THAT(benches.back()->front_end->actual_frequencies_hz(),
                ::testing::Pointwise(::testing::DoubleNear(1e-9), expected->actual_frequencies_hz()));
  }
  std::size_t fed = 0;
  double worst = 0.0;
  for (std::size_t first = 0; first + window <= total; first += stream.hop_samples) {
    const std::size_t from = std::max(fed, first);
    const auto block = test::words_of(stream.array, wire, from, first + window - from);
    fed = first + window;
    direct->push_bits(from, block);
    fast->push_bits(from, block);
    const std::vector<ComplexD> direct_spectra = direct->spectra(first);
    const std::vector<ComplexD> fast_spectra = fast->spectra(first);
    EXPECT_FALSE(direct->clipped());
    for (std::size_t i = 0; i < benches.size(); ++i) {
      const auto& bench = benches[i];
      bench->front_end->enqueue_bits(from, block);
      const double difference =
          test::relative_l2(bench->spectra(first), kVariants[i] == WalshVariant::kFast ? fast_spectra : direct_spectra);
      EXPECT_LT(difference, kTolerance) << first;
      worst = std::max(worst, difference);
      EXPECT_EQ(bench->flags(), (std::vector<std::uint32_t>{0, 0, 0, 0}));
    }
  }
  std::printf("spectra against the reference: relative L2 at most %.2g\n", worst);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, WalshFourierOfStream,
    ::testing::Values(StreamCase{{32, 32, WireLayout::kSoramaCam}, 64, 32, 2},
                      StreamCase{{32, 32, WireLayout::kRowMajor}, 128, 1, 1},
                      StreamCase{{8, 8, WireLayout::kRowMajor}, 128, 50, 5, 7},
                      StreamCase{{16, 64, WireLayout::kRowMajor}, 64, 64, 1, 41},
                      StreamCase{{12, 20, WireLayout::kRowMajor}, 64, 100, 5, 0, 0.01},
                      StreamCase{{5, 7, WireLayout::kRowMajor}, 128, 33, 19, 1000, 0.0, WindowKind::kNone, false},
                      StreamCase{{5, 7, WireLayout::kRowMajor}, 64, 17, 2, 0},
                      StreamCase{{5, 7, WireLayout::kRowMajor}, 8, 5, 1, 40, 0.0, WindowKind::kNone},
                      StreamCase{{1, 1, WireLayout::kRowMajor}, 4, 1, 1, 3, 0.0, WindowKind::kHann, false},
                      StreamCase{{5, 7, WireLayout::kRowMajor}, 1024, 32, 2, 1000}));

// sum_t d(t) x(t) with the windowed DFT's d, written out: no Walsh function in it.
TEST(WalshFourier, AllCoefficientsAreTheDftOfTheBits) {
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kTiny, 1024, generator);
  const std::vector<int> wire_bits = wire_bit_of_channel(kTiny.layout, kTiny.geometry());
  for (const WindowKind window : {WindowKind::kHann, WindowKind::kNone}) {
    for (const WalshVariant variant : kVariants) {
      FrontEndPlan plan = plan_of(kTiny, 1024, 2, variant, 0);
      plan.settings.window = window;
      plan.settings.remove_dc = false;
      Bench bench(plan);
      bench.front_end->enqueue_bits(0, wire);
      std::vector<ComplexD> expected;
      for (const double frequency_hz : bench.front_end->actual_frequencies_hz()) {
        for (std::size_t channel = 0; channel < kTiny.channels(); ++channel) {
          ComplexD sum = 0.0;
          double weight_sum = 0.0;
          for (std::size_t t = 0; t < 32768; ++t) {
            const auto time = static_cast<double>(t);
            const double weight = window == WindowKind::kHann ? 0.5 - 0.5 * std::cos(kTwoPi * time / 32768.0) : 1.0;
            const int sign = test::sign_at(kTiny, wire, static_cast<std::size_t>(wire_bits[channel]), t);
            sum += static_cast<double>(sign) * std::polar(weight, -kTwoPi * frequency_hz / kBitRateHz * time);
            weight_sum += weight;
          }
          expected.push_back(sum * (2.0 / weight_sum) * full_scale_pa(plan.sensitivity_dbfs));
        }
      }
      const double difference = test::relative_l2(bench.spectra(0), expected);
      std::printf("%s, all 32768 coefficients against the DFT of the bits: relative L2 %.2g\n",
                  std::string(name_of(variant)).c_str(), difference);
      EXPECT_LT(difference, 4e-6);  // rounding of 32768 float32 additions: 2.1e-6 for some seeds
    }
  }
}

// Square waves whose duty cycle is 3/4: an offset of 1/2, nothing at the wanted bins.
TEST(WalshFourier, AnOffsetLeavesNothing) {
  const auto wire = test::make_wire(kSmall, 128, [](std::size_t, std::size_t time) { return time % 4 != 0; });
  for (const WalshVariant variant : kVariants) {
    FrontEndPlan plan = plan_of(kSmall, 128, 2, variant, 40);
    plan.settings.frequencies_hz = {kSampleRateHz / 128.0, 2014.16};
    Bench bench(plan);
    bench.front_end->enqueue_bits(0, wire);
    for (const ComplexF& value : bench.spectra(0)) {
      EXPECT_LT(std::abs(ComplexD(value)) / full_scale_pa(plan.sensitivity_dbfs), 1e-6);
    }
  }
}

TEST(WalshFourier, GapsAndBlocksOfAnyLength) {
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 500, generator);
  const FrontEndPlan plan = plan_of(kSmall, 64, 2, WalshVariant::kFast, 40);
  Bench whole(plan);
  whole.front_end->enqueue_bits(0, wire);
  Bench pieces(plan);
  std::size_t fed = 0;
  for (const std::size_t words : {1U, 200U, 3U, 96U, 150U, 50U}) {
    pieces.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, words));
    fed += words;
  }
  EXPECT_EQ(whole.spectra(436), pieces.spectra(436));
  EXPECT_EQ(whole.spectra(372), pieces.spectra(372)) << "at least the last two windows are kept";
  Bench late(plan);
  late.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 100));
  late.front_end->enqueue_bits(436, test::words_of(kSmall, wire, 436, 64));
  EXPECT_EQ(whole.spectra(436), late.spectra(436));
  EXPECT_THROW(late.spectra(435), Error) << "in the gap";
}

/// Channel 3 has `ones` ones in each of the words 100 to 107, everything else is silent.
std::vector<std::uint32_t> loud_wire(std::size_t ones) {
  return test::make_wire(kSmall, 200, [ones](std::size_t channel, std::size_t time) {
    const bool loud = channel == 3 && time / 32 >= 100 && time / 32 < 108;
    return loud ? time % 32 < ones : time % 2 != 0;
  });
}

// 250 of 256 bits are ones: 0.953 of full scale; 248: 0.9375. Negative full scale counts as well.
TEST(WalshFourier, FullScaleIsFlagged) {
  struct Case {
    std::size_t ones;
    std::uint64_t first;
    std::vector<int> dead;
    bool clipped;
  };
  const std::vector<Case> cases = {{32, 60, {}, true},  {0, 60, {}, true},       {32, 44, {}, true},
                                   {32, 43, {}, false}, {32, 101, {}, false},    {32, 100, {}, true},
                                   {31, 60, {}, false}, {32, 60, {0, 3}, false}, {32, 60, {4}, true}};
  for (const Case& one : cases) {
    FrontEndPlan plan = plan_of(kSmall, 64, 1, WalshVariant::kFast, 40);
    plan.dead_channels = one.dead;
    const auto wire = loud_wire(one.ones);
    const auto block = test::words_of(kSmall, wire, one.first, 64);
    Bench bench(plan);
    const auto expected = reference::make_front_end(plan);
    bench.front_end->enqueue_bits(one.first, block);
    expected->push_bits(one.first, block);
    (void)expected->spectra(one.first);
    (void)bench.spectra(one.first);
    EXPECT_EQ(bench.flags(), (std::vector<std::uint32_t>{one.clipped ? std::uint32_t{kFlagClipped} : 0U, 0, 0, 0}))
        << one.ones << " ones, window at " << one.first;
    EXPECT_EQ(expected->clipped(), one.clipped) << one.ones << " ones, window at " << one.first;
  }
}

void expect_refused(const FrontEndPlan& plan, const std::string& word) {
  for (const bool on_device : {true, false}) {
    try {
      if (on_device) {
        (void)make_front_end(ocl::Device::open({}), plan);
      } else {
        (void)reference::make_front_end(plan);
      }
      ADD_FAILURE() << "expected a ConfigError with " << word;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(word));
    }
  }
}

TEST(WalshFourier, RefusesWhatCannotWork) {
  const FrontEndPlan good = plan_of(kSmall, 64, 1, WalshVariant::kFast, 40);
  FrontEndPlan window = good;
  window.settings.window_samples = 96;
  expect_refused(window, "front_end.window_samples");
  FrontEndPlan samples = good;
  samples.input_is_bits = false;
  expect_refused(samples, "front_end.kind");
  FrontEndPlan few = good;
  few.settings.own.edit<WalshFourierSettings>().coefficients = 1;
  expect_refused(few, "front_end.walsh_fourier");
}

TEST(WalshFourier, RefusesWrongUse) {
  std::mt19937 generator(1);
  Bench bench(plan_of(kSmall, 64, 2, WalshVariant::kComputed, 40));
  const auto wire = test::random_wire(kSmall, 64, generator);
  EXPECT_THROW(bench.front_end->enqueue_samples(0, std::vector<float>(35)), Error);
  EXPECT_THROW(bench.front_end->enqueue_bits(0, std::span<const std::uint32_t>(wire).first(65)), Error);
  EXPECT_THROW(bench.spectra(0), Error) << "nothing was fed";
  bench.front_end->enqueue_bits(0, wire);
  EXPECT_THROW(bench.front_end->enqueue_spectra(0, bench.device.allocate<ComplexF>(69, "test"), bench.status), Error);
  EXPECT_THROW(bench.front_end->enqueue_spectra(0, bench.output, bench.device.allocate<std::uint32_t>(1, "test")),
               Error);
}

}  // namespace
}  // namespace nearfield
