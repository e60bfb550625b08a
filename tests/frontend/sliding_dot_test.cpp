#include "frontend/dot_product/sliding_dot.hpp"

#include <gmock/gmock.h>

#include "core/frame.hpp"
#include "frontend/front_end_reference.hpp"
#include "frontend/front_end_support.hpp"
#include "frontend/samples/decimator.hpp"
#include "frontend/test_bits.hpp"

namespace nearfield {
namespace {

using test::Array;
using test::Bench;

constexpr Array kSmall{5, 7, WireLayout::kRowMajor};

// Phasors good to 2e-7, turned twice; see sliding_popcount_test.cpp.
constexpr double kTolerance = 5e-5;

struct StreamCase {
  Array array;
  int window_samples;
  int hop_samples;
  std::vector<double> frequencies_hz;
  WindowKind window = WindowKind::kHann;
  bool remove_dc = true;
};

FrontEndPlan plan_of(const StreamCase& stream) {
  FrontEndPlan plan;
  plan.geometry = stream.array.geometry();
  plan.layout = stream.array.layout;
  plan.settings.kind = "dot_product";
  plan.settings.incremental = Incremental::kAlways;
  plan.settings.window = stream.window;
  plan.settings.remove_dc = stream.remove_dc;
  plan.settings.window_samples = stream.window_samples;
  plan.settings.hop_samples = stream.hop_samples;
  plan.settings.frequencies_hz = stream.frequencies_hz;
  return plan;
}

class SlidingDotOfStream : public ::testing::TestWithParam<StreamCase> {};

TEST_P(SlidingDotOfStream, AgreesWithTheReference) {
  const StreamCase& stream = GetParam();
  const FrontEndPlan plan = plan_of(stream);
  Bench bench(plan);
  const auto expected = reference::make_front_end(plan);
  const auto window = static_cast<std::size_t>(stream.window_samples);
  const auto hop = static_cast<std::size_t>(stream.hop_samples);
  const std::size_t history = bench.front_end->history_words();
  EXPECT_GT(history, 0U);
  constexpr std::size_t kFrames = 5;
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(stream.array, history + window + kFrames * hop, generator);
  expected->push_bits(0, wire);
  std::size_t fed = 0;
  for (std::size_t frame = 0; frame < kFrames; ++frame) {
    const std::size_t first = history + frame * hop;
    bench.front_end->enqueue_bits(fed, test::words_of(stream.array, wire, fed, first + window - fed));
    fed = first + window;
    EXPECT_LT(test::relative_l2(bench.spectra(first), expected->spectra(first)), kTolerance) << frame;
    EXPECT_EQ(bench.flags().at(0), expected->clipped() ? std::uint32_t{kFlagClipped} : 0U);  // noise clips at times
  }
}

INSTANTIATE_TEST_SUITE_P(
    Streams, SlidingDotOfStream,
    ::testing::Values(StreamCase{{32, 32, WireLayout::kSoramaCam}, 256, 32, {1007.08, 2014.16}},
                      StreamCase{{8, 8, WireLayout::kRowMajor}, 1024, 32, {777.7, 1234.5, 3000.0, 9000.0, 14000.0}},
                      StreamCase{{12, 20, WireLayout::kRowMajor}, 105, 30, {2000.0}, WindowKind::kNone},
                      StreamCase{kSmall, 96, 7, {1500.0, 4000.0}, WindowKind::kHann, false},
                      StreamCase{kSmall, 192, 46, {1500.0, 4000.0}}, StreamCase{kSmall, 192, 100, {1500.0}},
                      StreamCase{kSmall, 96, 131, {1500.0}}, StreamCase{kSmall, 96, 96, {1500.0}}));

// Windows off the blocks, backwards, and after a gap: summed from their first sample.
TEST(SlidingDot, JumpsSumAnew) {
  const FrontEndPlan plan = plan_of({kSmall, 96, 32, {1500.0, 4000.0}});
  Bench bench(plan);
  const auto expected = reference::make_front_end(plan);
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 700, generator);
  expected->push_bits(0, test::words_of(kSmall, wire, 0, 250));
  bench.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 250));
  for (const std::uint64_t first : {64U, 96U, 101U, 64U, 150U}) {
    EXPECT_LT(test::relative_l2(bench.spectra(first), expected->spectra(first)), kTolerance) << first;
  }
  const auto after_gap = test::words_of(kSmall, wire, 282, 200);
  const auto other = reference::make_front_end(plan);
  other->push_bits(282, after_gap);
  bench.front_end->enqueue_bits(282, after_gap);
  for (const std::uint64_t first : {310U, 342U, 374U}) {
    EXPECT_LT(test::relative_l2(bench.spectra(first), other->spectra(first)), kTolerance) << first;
  }
  EXPECT_THROW(bench.spectra(200), Error);
}

TEST(SlidingDot, ClippingComesAndGoes) {
  FrontEndPlan plan = plan_of({kSmall, 96, 32, {1500.0}});
  const auto wire = test::make_wire(kSmall, 500, [](std::size_t channel, std::size_t time) {
    const bool is_loud = channel == 3 && time / 32 >= 200 && time / 32 < 232;
    return is_loud || time % 2 != 0;
  });
  for (const bool is_dead : {false, true}) {
    plan.dead_channels = is_dead ? std::vector<int>{3} : std::vector<int>{};
    Bench bench(plan);
    bench.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 200));
    std::vector<int> flagged;
    for (std::size_t first = 64; first + 96 <= 480; first += 32) {
      const std::size_t end = first + 96;
      if (end > 200) {
        const std::size_t from = std::max<std::size_t>(200, end - 32);
        bench.front_end->enqueue_bits(from, test::words_of(kSmall, wire, from, end - from));
      }
      (void)bench.spectra(first);
      flagged.push_back((bench.flags().at(0) & kFlagClipped) != 0 ? 1 : 0);
    }
    // Full scale from sample 200 on, delayed by the filter's half length, up to 20 samples: blocks 192 and 224.
    const std::vector<int> loud = {0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0};
    EXPECT_EQ(flagged, is_dead ? std::vector<int>(loud.size(), 0) : loud);
  }
}

TEST(SlidingDot, IsForBits) {
  FrontEndPlan plan = plan_of({kSmall, 96, 32, {1500.0}});
  plan.input_is_bits = false;
  const ocl::Device device = ocl::Device::open({});
  EXPECT_THROW((void)make_front_end(device, plan), ConfigError);
  plan.settings.incremental = Incremental::kAuto;
  EXPECT_NO_THROW((void)make_front_end(device, plan));
  plan.input_is_bits = true;
  plan.settings.incremental = Incremental::kAlways;
  plan.settings.kind = "decimated_fft";
  EXPECT_THROW((void)make_front_end(device, plan), ConfigError);
}

}  // namespace
}  // namespace nearfield
