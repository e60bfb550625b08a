#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "core/microphones.hpp"

namespace nearfield {
namespace {

constexpr int kMicrophonesPerSubArray = 64;

// The three pairs that design.md fixes. Sub-arrays are numbered in wire order, A0..A3, B0..B3, C0..C3, D0..D3.
TEST(SoramaCam, KnownMicrophones) {
  const auto channels = channel_of_wire_bit(WireLayout::kSoramaCam, ArrayGeometry{});
  const auto channel = [&](int sub_array, int microphone) {
    return channels[static_cast<std::size_t>(sub_array * kMicrophonesPerSubArray + microphone)];
  };
  constexpr int kA0 = 0, kA3 = 3, kD0 = 12;
  EXPECT_EQ(channel(kA0, 0), 768);
  EXPECT_EQ(channel(kA3, 0), 0);
  EXPECT_EQ(channel(kD0, 63), 1023);
  // Further ones read off the thesis's figures 10.1 and 10.2 by hand, so that no two rows or columns can be exchanged.
  constexpr int kA1 = 1, kB0 = 4, kB2 = 6, kC1 = 9, kD3 = 15;
  EXPECT_EQ(channel(kA0, 32), 28 * 32 + 0);
  EXPECT_EQ(channel(kA0, 7), 24 * 32 + 7);
  EXPECT_EQ(channel(kA1, 0), 16 * 32 + 0);
  EXPECT_EQ(channel(kB0, 0), 24 * 32 + 8);
  EXPECT_EQ(channel(kB2, 63), 15 * 32 + 15);
  EXPECT_EQ(channel(kC1, 9), 17 * 32 + 17);
  EXPECT_EQ(channel(kD3, 56), 7 * 32 + 24);
}

TEST(SoramaCam, EveryMicrophoneOnce) {
  const auto channels = channel_of_wire_bit(WireLayout::kSoramaCam, ArrayGeometry{});
  EXPECT_EQ(channels.size(), 1024U);
  EXPECT_EQ(std::set<int>(channels.begin(), channels.end()).size(), 1024U);
  EXPECT_EQ(*std::max_element(channels.begin(), channels.end()), 1023);
}

TEST(SoramaCam, RefusesOtherSizes) {
  EXPECT_THROW((void)words_per_bit_time(WireLayout::kSoramaCam, ArrayGeometry{.rows = 16}), ConfigError);
}

TEST(RowMajor, SpareBitsFillTheLastWord) {
  const ArrayGeometry geometry{.rows = 5, .columns = 7};
  EXPECT_EQ(words_per_bit_time(WireLayout::kRowMajor, geometry), 2);
  const auto channels = channel_of_wire_bit(WireLayout::kRowMajor, geometry);
  ASSERT_EQ(channels.size(), 64U);
  EXPECT_EQ(channels[34], 34);
  EXPECT_EQ(channels[35], kSpareBit);
  EXPECT_EQ(channels[63], kSpareBit);
}

TEST(WireLayout, InverseOfEachOther) {
  for (const WireLayout layout : {WireLayout::kSoramaCam, WireLayout::kRowMajor}) {
    const auto channels = channel_of_wire_bit(layout, ArrayGeometry{});
    const auto bits = wire_bit_of_channel(layout, ArrayGeometry{});
    for (std::size_t channel = 0; channel < bits.size(); ++channel) {
      EXPECT_EQ(channels[static_cast<std::size_t>(bits[channel])], static_cast<int>(channel));
    }
  }
}

TEST(WireLayout, NamesGoBothWays) {
  for (const WireLayout layout : {WireLayout::kSoramaCam, WireLayout::kRowMajor}) {
    EXPECT_EQ(wire_layout_of(name_of(layout)), layout);
  }
  EXPECT_THROW((void)wire_layout_of("sorama"), ConfigError);
}

// -26 dBFS for 1 Pa rms puts full scale at 20 Pa rms, 28.2 Pa peak.
TEST(Sensitivity, FullScale) { EXPECT_NEAR(full_scale_pa(-26.0), 28.217, 1e-3); }

}  // namespace
}  // namespace nearfield
