#include "health/bit_statistics.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace nearfield::health {
namespace {

/// Bits of runs of many lengths, [bit-time][channel].
std::vector<std::vector<bool>> random_bits(std::size_t bit_times, std::size_t channels, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<bool>> bits(bit_times, std::vector<bool>(channels));
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const unsigned steadiness = 1U + static_cast<unsigned>(random() % 60U);
    bool bit = false;
    for (std::size_t t = 0; t < bit_times; ++t) {
      bit = random() % steadiness == 0 ? !bit : bit;
      bits[t][channel] = channel % 11 == 3 ? t % 2 == 0 : channel % 11 != 5 && bit;
    }
  }
  return bits;
}

TEST(BitCounter, AgreesWithCountingOneByOne) {
  struct Case {
    WireLayout layout;
    ArrayGeometry geometry;
    std::size_t bit_times;
  };
  const std::vector<Case> cases = {{WireLayout::kSoramaCam, {}, 1024},
                                   {WireLayout::kRowMajor, {7, 9, 0.02, 0.02}, 517},
                                   {WireLayout::kRowMajor, {20, 18, 0.02, 0.02}, 16},
                                   {WireLayout::kRowMajor, {3, 1, 0.02, 0.02}, 4096}};
  for (const Case& one : cases) {
    const auto channels = static_cast<std::size_t>(one.geometry.channels());
    const auto bits = random_bits(one.bit_times, channels, static_cast<unsigned>(channels));
    const BitCounter counter(one.layout, one.geometry);
    const std::vector<int> places = wire_bit_of_channel(one.layout, one.geometry);
    std::vector<std::uint32_t> wire(one.bit_times * counter.words_per_bit_time(), 0);
    for (std::size_t t = 0; t < one.bit_times; ++t) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        const auto place = static_cast<std::size_t>(places[channel]);
        wire[t * counter.words_per_bit_time() + place / 32] |= (bits[t][channel] ? 1U : 0U) << place % 32;
      }
    }
    BitStatistics found;
    counter.count(wire, found);
    ASSERT_EQ(found.bit_times, one.bit_times);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      unsigned ones = 0;
      unsigned toggles = 0;
      unsigned run = 0;
      unsigned longest = 0;
      for (std::size_t t = 0; t < one.bit_times; ++t) {
        const bool equals = t > 0 && bits[t][channel] == bits[t - 1][channel];
        ones += bits[t][channel] ? 1U : 0U;
        toggles += t > 0 && !equals ? 1U : 0U;
        run = equals ? run + 1 : 0;
        longest = std::max(longest, run);
      }
      EXPECT_EQ(found.ones[channel], ones) << channel;
      EXPECT_EQ(found.toggles[channel], toggles) << channel;
      EXPECT_EQ(found.longest_run[channel], std::min(std::bit_floor(longest), 256U)) << channel;
    }
  }
}

}  // namespace
}  // namespace nearfield::health
