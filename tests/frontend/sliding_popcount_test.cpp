#include "frontend/popcount/sliding_popcount.hpp"

#include <gmock/gmock.h>

#include <map>

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
using ComplexF = std::complex<float>;

constexpr Array kSmall{5, 7, WireLayout::kRowMajor};

FrontEndPlan plan_of(const Array& array, int window_words, int hop_words) {
  FrontEndPlan plan;
  plan.geometry = array.geometry();
  plan.layout = array.layout;
  plan.settings.kind = "popcount";
  plan.settings.window_samples = window_words;
  plan.settings.hop_samples = hop_words;
  plan.settings.incremental = Incremental::kAlways;
  return plan;
}

/// Computed twice: without a move, a front end answers from its integers alone, always by the same kernel (`slide`).
/// Compilers may round the last turn otherwise in another kernel.
std::vector<ComplexF> settled_spectra(Bench& bench, std::uint64_t first_word) {
  (void)bench.spectra(first_word);
  return bench.spectra(first_word);
}

std::vector<ComplexF> spectra_of_window_alone(const FrontEndPlan& plan, std::uint64_t first_word,
                                              std::span<const std::uint32_t> wire) {
  Bench fresh(plan);
  fresh.front_end->enqueue_bits(first_word, wire);
  return settled_spectra(fresh, first_word);
}

// After a million hops of one word, whose sums came and went one by one: to the last bit what a front end gives that
// has seen nothing but the last window. Sums are integers, so rounding cannot build up.
TEST(SlidingPopcount, AMillionHopsLeaveNoTrace) {
  constexpr std::uint64_t kHops = 1'000'000;
  constexpr std::size_t kWindow = 1000;
  constexpr Array kFew{2, 3, WireLayout::kRowMajor};
  const FrontEndPlan plan = plan_of(kFew, kWindow, 1);
  std::mt19937 generator(test::fresh_seed());
  Bench bench(plan);
  std::uint64_t fed = 0;
  std::vector<std::uint32_t> last_two = test::random_wire(kFew, kWindow, generator);
  bench.front_end->enqueue_bits(0, last_two);
  (void)bench.spectra(0);
  fed = kWindow;
  while (fed < kHops + kWindow) {
    const std::size_t words = std::min<std::uint64_t>(kWindow / 2, kHops + kWindow - fed);
    const std::vector<std::uint32_t> wire = test::random_wire(kFew, words, generator);
    bench.front_end->enqueue_bits(fed, wire);
    fed += words;
    (void)bench.spectra(fed - kWindow);  // moves on by `words` blocks of one word
    last_two.erase(last_two.begin(), last_two.begin() + static_cast<std::ptrdiff_t>(wire.size()));
    last_two.insert(last_two.end(), wire.begin(), wire.end());
  }
  const std::vector<ComplexF> found = bench.spectra(kHops);
  EXPECT_EQ(found, spectra_of_window_alone(plan, kHops, last_two));
  const auto expected = reference::make_front_end(plan);
  expected->push_bits(kHops, last_two);
  EXPECT_LT(test::relative_l2(found, expected->spectra(kHops)), 1e-5);  // float32, as for the first window
}

// Months into a stream, phases still count exactly: 2^44 words are 12 years.
TEST(SlidingPopcount, PhasesHoldFarFromTheStart) {
  const FrontEndPlan plan = plan_of(kSmall, 256, 32);
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 256, generator);
  const std::vector<ComplexF> early = spectra_of_window_alone(plan, 0, wire);
  const std::vector<ComplexF> late = spectra_of_window_alone(plan, (std::uint64_t{1} << 44U) + 5, wire);
  // Both are the same sums turned by different phases, rounded to float32.
  EXPECT_LT(test::relative_l2(late, std::vector<std::complex<double>>(early.begin(), early.end())), 2e-6);
}

TEST(SlidingPopcount, BackwardsAndFarForwardJumpsSumAnew) {
  const FrontEndPlan plan = plan_of(kSmall, 64, 8);
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 400, generator);
  Bench bench(plan);
  bench.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 128));
  for (const std::size_t first : {64U, 0U, 8U, 8U, 64U}) {
    EXPECT_EQ(settled_spectra(bench, first),
              spectra_of_window_alone(plan, first, test::words_of(kSmall, wire, first, 64)));
  }
  bench.front_end->enqueue_bits(128, test::words_of(kSmall, wire, 128, 272));
  EXPECT_EQ(settled_spectra(bench, 336), spectra_of_window_alone(plan, 336, test::words_of(kSmall, wire, 336, 64)));
  // After a gap the stream restarts, at any word.
  bench.front_end->enqueue_bits(1001, test::words_of(kSmall, wire, 3, 72));
  EXPECT_EQ(settled_spectra(bench, 1009), spectra_of_window_alone(plan, 1009, test::words_of(kSmall, wire, 11, 64)));
}

/// As on a GPU, one microphone an item: this machine's PoCL runs the same kernels.
std::unique_ptr<FrontEnd> make_as_on_a_gpu(const ocl::Device& device, const FrontEndPlan& plan) {
  ocl::DeviceInfo info = device.info();
  info.is_gpu = true;
  return std::make_unique<SlidingPopcount>(device.restricted(info), plan);
}

/// As on a GPU whose work-groups have 256 items at most: devices with fewer are refused.
std::unique_ptr<FrontEnd> make_as_on_a_small_gpu(const ocl::Device& device, const FrontEndPlan& plan) {
  ocl::DeviceInfo info = device.info();
  info.is_gpu = true;
  info.max_work_group_size = 256;
  return std::make_unique<SlidingPopcount>(device.restricted(info), plan);
}

TEST(SlidingPopcount, GroupsOfGpusAgreeWithTheReference) {
  for (const auto& [array, hop, frequencies] :
       {std::tuple{Array{32, 32, WireLayout::kSoramaCam}, 32, 5}, std::tuple{Array{8, 8, WireLayout::kRowMajor}, 8, 12},
        std::tuple{kSmall, 24, 2}, std::tuple{kSmall, 1, 1}, std::tuple{kSmall, 64, 13}, std::tuple{kSmall, 96, 3}}) {
    FrontEndPlan plan = plan_of(array, 192, hop);
    plan.settings.frequencies_hz.clear();
    for (int i = 0; i < frequencies; ++i) {
      plan.settings.frequencies_hz.push_back(900.0 + 1100.0 * i);
    }
    std::mt19937 generator(test::fresh_seed());
    const auto step = static_cast<std::size_t>(hop);
    const auto wire = test::random_wire(array, 192 + 3 * step, generator);
    Bench bench(plan, make_as_on_a_gpu);
    const auto expected = reference::make_front_end(plan);
    expected->push_bits(0, wire);
    std::size_t fed = 0;
    for (std::size_t first = 0; first <= 3 * step; first += step) {
      bench.front_end->enqueue_bits(fed, test::words_of(array, wire, fed, first + 192 - fed));
      fed = first + 192;
      EXPECT_LT(test::relative_l2(bench.spectra(first), expected->spectra(first)), 5e-5) << hop << ", " << first;
    }
  }
}

struct HopCase {
  Array array;
  int window;
  int hop;
  int order = 1;
};

class SlidingPopcountHops : public ::testing::TestWithParam<HopCase> {};

// Any hop: longer than a block of 32 words, no multiple of it, no divisor of the window, longer than the window. Fed
// hop by hop as from a live source, then all at once and also where windows leave bits out. The reference takes whole
// windows.
TEST_P(SlidingPopcountHops, GiveWhatWholeWindowsGive) {
  const HopCase& c = GetParam();
  FrontEndPlan plan = plan_of(c.array, c.window, c.hop);
  plan.settings.frequencies_hz = {1007.08, 2014.16, 4321.0};
  plan.settings.own.edit<PopcountSettings>().order = c.order;
  const auto window = static_cast<std::size_t>(c.window);
  const auto hop = static_cast<std::size_t>(c.hop);
  constexpr std::size_t kHops = 4;
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(c.array, window + kHops * hop, generator);
  const auto expected = reference::make_front_end(plan);
  expected->push_bits(0, wire);
  for (const bool as_on_a_gpu : {false, true}) {
    const auto make = as_on_a_gpu ? make_as_on_a_gpu : make_front_end;
    Bench hops(plan, make);
    Bench at_once(plan, make);
    std::size_t fed = 0;
    for (std::size_t first = 0; first <= kHops * hop; first += hop) {
      const std::size_t end = first + window;
      hops.front_end->enqueue_bits(fed, test::words_of(c.array, wire, fed, end - fed));
      at_once.front_end->enqueue_bits(std::max(fed, first),
                                      test::words_of(c.array, wire, std::max(fed, first), end - std::max(fed, first)));
      fed = end;
      const std::vector<ComplexF> found = hops.spectra(first);
      EXPECT_LT(test::relative_l2(found, expected->spectra(first)), 5e-5) << first;
      EXPECT_LT(test::relative_l2(at_once.spectra(first), expected->spectra(first)), 5e-5) << first;
    }
    Bench last(plan, make);
    last.front_end->enqueue_bits(kHops * hop, test::words_of(c.array, wire, kHops * hop, window));
    // No rounding was left behind by the hops.
    EXPECT_EQ(settled_spectra(hops, kHops * hop), settled_spectra(last, kHops * hop));
  }
}

INSTANTIATE_TEST_SUITE_P(Hops, SlidingPopcountHops,
                         ::testing::Values(HopCase{{32, 32, WireLayout::kSoramaCam}, 128, 46},
                                           HopCase{{2, 3, WireLayout::kRowMajor}, 1024, 1000},
                                           HopCase{kSmall, 192, 33, 2}, HopCase{kSmall, 192, 63},
                                           HopCase{kSmall, 192, 64}, HopCase{{12, 20, WireLayout::kRowMajor}, 192, 65},
                                           HopCase{kSmall, 192, 100, 0}, HopCase{kSmall, 100, 100},
                                           HopCase{{8, 8, WireLayout::kRowMajor}, 96, 131}, HopCase{kSmall, 96, 7}));

// Hops of which several are passed over, as by a daemon that sheds, and windows that were fed ahead.
TEST(SlidingPopcount, SeveralHopsAtOnceGiveTheSame) {
  for (const int hop : {32, 46, 100}) {
    const FrontEndPlan plan = plan_of(kSmall, 256, hop);
    std::mt19937 generator(test::fresh_seed());
    const auto step = static_cast<std::size_t>(hop);
    const auto wire = test::random_wire(kSmall, 256 + 12 * step, generator);
    const auto expected = reference::make_front_end(plan);
    expected->push_bits(0, wire);
    Bench bench(plan);
    std::size_t fed = 0;
    for (const auto& [at, ahead] : {std::pair{0U, 0U}, std::pair{2U, 0U}, std::pair{3U, 1U}, std::pair{4U, 0U},
                                    std::pair{5U, 2U}, std::pair{7U, 0U}, std::pair{12U, 0U}}) {
      const std::size_t end = 256 + (at + ahead) * step;
      if (end > fed) {
        bench.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, end - fed));
        fed = end;
      }
      EXPECT_LT(test::relative_l2(bench.spectra(at * step), expected->spectra(at * step)), 5e-5) << hop << ", " << at;
    }
  }
}

// As many words as wait at most, and then the windows in them: no block is summed into another one's slot.
TEST(SlidingPopcount, WindowsThatWereFedAheadGiveTheSame) {
  for (const auto& [window, hop] :
       {std::pair{1024, 1000}, std::pair{192, 100}, std::pair{192, 131}, std::pair{96, 64}}) {
    const FrontEndPlan plan = plan_of({2, 3, WireLayout::kRowMajor}, window, hop);
    std::mt19937 generator(test::fresh_seed());
    const auto step = static_cast<std::size_t>(hop);
    const Array array{2, 3, WireLayout::kRowMajor};
    const std::size_t end = 2 * step + static_cast<std::size_t>(window);
    const auto wire = test::random_wire(array, end, generator);
    const auto expected = reference::make_front_end(plan);
    expected->push_bits(0, wire);
    Bench bench(plan);
    const std::size_t ahead = std::min(3 * step, end);
    bench.front_end->enqueue_bits(0, test::words_of(array, wire, 0, ahead));
    EXPECT_LT(test::relative_l2(bench.spectra(step), expected->spectra(step)), 5e-5) << hop;
    if (ahead < end) {
      bench.front_end->enqueue_bits(ahead, test::words_of(array, wire, ahead, end - ahead));
    }
    EXPECT_LT(test::relative_l2(bench.spectra(2 * step), expected->spectra(2 * step)), 5e-5) << hop;
  }
}

/// Bits at random, of which channel 3 clips in two stretches.
std::vector<std::uint32_t> wire_with_loud_stretches(std::size_t words) {
  std::mt19937 generator(test::fresh_seed());
  return test::make_wire(kSmall, words, [&](std::size_t channel, std::size_t time) {
    const std::size_t word = time / 32;
    const bool is_loud = channel == 3 && ((word >= 70 && word < 81) || (word >= 130 && word < 150));
    return is_loud ? time % 50 != 0 : generator() % 2 != 0;
  });
}

// Batches of windows, whatever came before: what the windows one by one give, and their flags. On a GPU the windows of
// a batch are computed in parts, side by side.
TEST(SlidingPopcount, BatchesGiveTheSame) {
  using Case = std::tuple<std::size_t, std::vector<std::size_t>, std::vector<std::size_t>>;
  for (const auto& [batch, sizes, hops] :
       {Case{5, {5, 1, 2, 5, 5}, {1, 24, 40}}, Case{33, {33, 1, 20, 33, 9}, {8, 24, 33}}}) {
    for (const std::size_t hop : hops) {
      for (const auto& make : {make_front_end, make_as_on_a_gpu, make_as_on_a_small_gpu}) {
        FrontEndPlan plan = plan_of(kSmall, 64, static_cast<int>(hop));
        Bench single(plan, make);
        plan.batch = static_cast<int>(batch);
        Bench bench(plan, make);
        const auto wire = wire_with_loud_stretches(64 + 96 * hop);
        const std::size_t values = 2 * kSmall.channels();
        const auto spectra = bench.device.allocate<ComplexF>(batch * values, "test");
        std::size_t fed = 0;
        std::size_t first = 0;
        std::size_t clipped = 0;
        for (const std::size_t windows : sizes) {
          const auto status =
              bench.device.upload<std::uint32_t>(std::vector<std::uint32_t>(batch * kStatusWords, 0), "test");
          const std::size_t end = first + 64 + (windows - 1) * hop;
          bench.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, end - fed));
          bench.front_end->enqueue_batch(first, windows, spectra, status);
          const std::vector<ComplexF> found = bench.device.download(spectra, "test");
          const std::vector<std::uint32_t> flags = bench.device.download(status, "test");
          for (std::size_t i = 0; i < windows; ++i, first += hop) {
            single.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, first + 64 - fed));
            fed = first + 64;
            const std::vector<ComplexF> expected = single.spectra(first);
            const auto part = found.begin() + static_cast<std::ptrdiff_t>(i * values);
            const std::vector<ComplexF> of_batch(part, part + static_cast<std::ptrdiff_t>(values));
            const std::string where = "hop " + std::to_string(hop) + ", window at " + std::to_string(first);
            // The integers are the same; a compiler may round the last turn otherwise in another kernel.
            EXPECT_LT(test::relative_l2(of_batch, std::vector<std::complex<double>>(expected.begin(), expected.end())),
                      1e-6)
                << where;
            EXPECT_EQ(flags[i * kStatusWords], single.flags().front()) << where;
            clipped += flags[i * kStatusWords] == kFlagClipped ? 1U : 0U;
          }
        }
        EXPECT_GT(clipped, 0U);
        EXPECT_LT(clipped, first / hop);
      }
    }
  }
}

// This machine's device may run larger groups than the one that it stands for, so that the launches are looked at.
TEST(SlidingPopcount, BatchesKeepToTheWorkGroupsOfTheDevice) {
  constexpr std::size_t kWindows = 33;
  constexpr std::size_t kHop = 8;
  FrontEndPlan plan = plan_of(kSmall, 64, static_cast<int>(kHop));
  plan.batch = static_cast<int>(kWindows);
  const ocl::Device device = ocl::Device::open({}, ocl::Profiling::kOn);
  const auto front_end = make_as_on_a_small_gpu(device, plan);
  const auto spectra = device.allocate<ComplexF>(kWindows * 2 * kSmall.channels(), "test");
  const auto status = device.upload<std::uint32_t>(std::vector<std::uint32_t>(kWindows * kStatusWords, 0), "test");
  device.recorder()->set_active(true);
  front_end->enqueue_bits(0, wire_with_loud_stretches(64 + (kWindows - 1) * kHop));
  front_end->enqueue_batch(0, kWindows, spectra, status);
  device.wait();
  const std::map<std::string, ocl::KernelUse> uses = device.recorder()->take_uses();
  EXPECT_GE(uses.size(), 2U) << "the sums of blocks, and the windows";
  for (const auto& [stage, use] : uses) {
    EXPECT_LE(use.work_group_items, 256U) << stage;
  }
}

// Some thousand hops, each in the launch that does one at a time; then the sums against a front end that saw the last
// window only. Computed again without a move, both are made from their sums by the same kernel.
TEST(SlidingPopcount, HopByHopLeavesNoTrace) {
  constexpr std::size_t kHops = 3000;
  constexpr Array kFew{2, 3, WireLayout::kRowMajor};
  const FrontEndPlan plan = plan_of(kFew, 64, 8);
  for (const bool as_on_a_gpu : {false, true}) {
    std::mt19937 generator(test::fresh_seed());
    const auto wire = test::random_wire(kFew, 64 + 8 * kHops, generator);
    const auto make = as_on_a_gpu ? make_as_on_a_gpu : make_front_end;
    Bench bench(plan, make);
    bench.front_end->enqueue_bits(0, test::words_of(kFew, wire, 0, 64));
    (void)bench.spectra(0);
    for (std::size_t hop = 1; hop <= kHops; ++hop) {
      bench.front_end->enqueue_bits(56 + 8 * hop, test::words_of(kFew, wire, 56 + 8 * hop, 8));
      bench.front_end->enqueue_spectra(8 * hop, bench.output, bench.status);
    }
    Bench fresh(plan, make);
    fresh.front_end->enqueue_bits(8 * kHops, test::words_of(kFew, wire, 8 * kHops, 64));
    EXPECT_EQ(settled_spectra(bench, 8 * kHops), settled_spectra(fresh, 8 * kHops));
  }
}

// A source that runs a hop ahead of the windows.
TEST(SlidingPopcount, BitsMayRunAhead) {
  const FrontEndPlan plan = plan_of(kSmall, 64, 8);
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 200, generator);
  Bench bench(plan);
  bench.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 72));
  for (std::size_t first = 0; first + 80 <= 200; first += 8) {
    EXPECT_EQ(settled_spectra(bench, first),
              spectra_of_window_alone(plan, first, test::words_of(kSmall, wire, first, 64)));
    bench.front_end->enqueue_bits(first + 72, test::words_of(kSmall, wire, first + 72, 8));
  }
}

TEST(SlidingPopcount, UnevenFeedsGiveTheSame) {
  const FrontEndPlan plan = plan_of(kSmall, 96, 32);
  std::mt19937 generator(test::fresh_seed());
  const auto wire = test::random_wire(kSmall, 500, generator);
  Bench pieces(plan);
  std::size_t fed = 0;
  for (const std::size_t words : {1U, 200U, 3U, 96U, 150U, 50U}) {
    pieces.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, words));
    fed += words;
  }
  for (const std::size_t first : {320U, 384U}) {
    EXPECT_EQ(settled_spectra(pieces, first),
              spectra_of_window_alone(plan, first, test::words_of(kSmall, wire, first, 96)));
  }
}

/// Channel 3 at 0.96 of full scale in words 96 to 103; everything else silent.
std::vector<std::uint32_t> wire_with_a_loud_run() {
  return test::make_wire(kSmall, 300, [](std::size_t channel, std::size_t time) {
    const bool is_loud = channel == 3 && time / 32 >= 96 && time / 32 < 104;
    return is_loud ? time % 50 != 0 : time % 2 != 0;
  });
}

// Runs of eight words, whatever the block; where a block is shorter, runs of blocks.
TEST(SlidingPopcount, ClippingComesAndGoesWithItsBlocks) {
  const auto wire = wire_with_a_loud_run();
  for (const int hop : {1, 2, 8, 16}) {
    FrontEndPlan plan = plan_of(kSmall, 64, hop);
    Bench bench(plan);
    bench.front_end->enqueue_bits(0, test::words_of(kSmall, wire, 0, 64));
    EXPECT_EQ((bench.spectra(0), bench.flags().at(0)), 0U);
    const auto step = static_cast<std::size_t>(hop);
    for (std::size_t first = step; first + 64 <= 300; first += step) {
      bench.front_end->enqueue_bits(first + 64 - step, test::words_of(kSmall, wire, first + 64 - step, step));
      (void)bench.spectra(first);
      // A run counts in the windows that hold the block in which it ends.
      const std::size_t last_block = 103 / step * step;
      const bool clipped = first + 64 > last_block && first <= last_block;
      ASSERT_EQ(bench.flags().at(0), clipped ? std::uint32_t{kFlagClipped} : 0U) << "hop " << hop << ", " << first;
    }
    plan.dead_channels = {3};
    Bench dead(plan);
    dead.front_end->enqueue_bits(64, test::words_of(kSmall, wire, 64, 64));
    EXPECT_EQ((dead.spectra(64), dead.flags().at(0)), 0U);
  }
}

// Blocks of unequal lengths, and hops that they part: a run of 24 loud words is seen by each window that holds all of
// it, and by none that holds nothing of it.
TEST(SlidingPopcount, ClippingIsSeenWhereHopsArePartedOddly) {
  const auto wire = test::make_wire(kSmall, 500, [](std::size_t channel, std::size_t time) {
    const bool is_loud = channel == 3 && time / 32 >= 150 && time / 32 < 174;
    return is_loud ? time % 50 != 0 : time % 2 != 0;
  });
  for (const int hop : {9, 10, 12, 46, 70}) {
    const FrontEndPlan plan = plan_of(kSmall, 64, hop);
    const auto step = static_cast<std::size_t>(hop);
    for (const bool as_on_a_gpu : {false, true}) {
      Bench bench(plan, as_on_a_gpu ? make_as_on_a_gpu : make_front_end);
      std::size_t fed = 0;
      for (std::size_t first = 0; first + 64 <= 500; first += step) {
        bench.front_end->enqueue_bits(fed, test::words_of(kSmall, wire, fed, first + 64 - fed));
        fed = first + 64;
        (void)bench.spectra(first);
        const bool is_clipped = bench.flags().at(0) == kFlagClipped;
        EXPECT_TRUE(is_clipped || first > 150 || first + 64 < 174) << "hop " << hop << ", window at " << first;
        EXPECT_FALSE(is_clipped && (first >= 174 || first + 64 <= 150)) << "hop " << hop << ", window at " << first;
      }
    }
  }
}

TEST(SlidingPopcount, RefusesWrongUse) {
  std::mt19937 generator(1);
  Bench bench(plan_of(kSmall, 96, 32));
  const auto wire = test::random_wire(kSmall, 200, generator);
  EXPECT_THROW(bench.front_end->enqueue_samples(0, std::vector<float>(35)), Error);
  EXPECT_THROW(bench.front_end->enqueue_bits(0, std::span<const std::uint32_t>(wire).first(65)), Error);
  EXPECT_THROW(bench.spectra(0), Error) << "nothing was fed";
  bench.front_end->enqueue_bits(10, wire);
  EXPECT_THROW(bench.spectra(9), Error);
  EXPECT_THROW(bench.spectra(14), Error) << "not a whole number of hops after word 10";
  EXPECT_THROW(bench.spectra(138), Error);
  EXPECT_NO_THROW(bench.spectra(106));
  const auto small = bench.device.allocate<ComplexF>(69, "test");
  EXPECT_THROW(bench.front_end->enqueue_spectra(42, small, bench.status), Error);
  FrontEndPlan plan = plan_of(kSmall, 96, 32);
  plan.settings.own.edit<PopcountSettings>().transform = WordTransform::kFft;
  EXPECT_THROW(make_front_end(bench.device, plan), ConfigError);
}

// On processors always: the kernels of whole windows take one microphone an item there.
TEST(SlidingPopcount, IsTakenWhereItPays) {
  const ocl::Device device = ocl::Device::open({});
  const auto runs = [&](bool on_a_gpu, int window, int hop) {
    FrontEndPlan plan = plan_of(kSmall, window, hop);
    plan.settings.incremental = Incremental::kAuto;
    ocl::DeviceInfo info = device.info();
    info.is_gpu = on_a_gpu;
    return dynamic_cast<SlidingPopcount*>(make_front_end(device.restricted(info), plan).get()) != nullptr;
  };
  for (const bool on_a_gpu : {false, true}) {
    EXPECT_TRUE(runs(on_a_gpu, 1024, 32));
    EXPECT_TRUE(runs(on_a_gpu, 1024, 1));
    EXPECT_EQ(runs(on_a_gpu, 96, 32), !on_a_gpu);
    EXPECT_EQ(runs(on_a_gpu, 1024, 1024), !on_a_gpu);
    EXPECT_EQ(runs(on_a_gpu, 96, 1000), !on_a_gpu);
  }
}

}  // namespace
}  // namespace nearfield
