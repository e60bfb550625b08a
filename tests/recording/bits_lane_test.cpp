#include <gtest/gtest.h>

#include "core/error.hpp"
#include "recording/lane.hpp"
#include "recording/recording_support.hpp"

namespace nearfield::test {
namespace {

class LaneTap : public BitsTap {
 public:
  explicit LaneTap(std::uint64_t bytes) : lane(bytes, 0, kWords) { lane.lane().set_mode(Lane::Mode::kDraining); }
  void push(const BitsPiece& piece) override { lane.push(piece); }
  /// Takes the oldest record out.
  nfr::RecordHeader take() {
    const nfr::RecordHeader header = lane.lane().header_at(lane.lane().tail());
    lane.lane().release(lane.lane().tail() + nfr::record_bytes(header));
    return header;
  }
  BitsLane lane;
};

constexpr std::uint64_t kRecordBytes = sizeof(nfr::RecordHeader) + 16 * kWords * 4;

TEST(BitsLane, WhatFindsNoRoomBecomesOneGap) {
  LaneTap tap(4 * kRecordBytes);
  for (std::uint64_t piece = 0; piece < 10; ++piece) {
    push_bits(tap, piece * 16, 16);
  }
  EXPECT_EQ(tap.lane.dropped_pieces(), 6U);
  EXPECT_EQ(tap.lane.dropped_bit_times(), 96U);
  EXPECT_EQ(tap.take().first_bit_time, 0U);
  EXPECT_EQ(tap.take().first_bit_time, 16U);
  push_bits(tap, 160, 16);
  EXPECT_EQ(tap.lane.dropped_pieces(), 6U);
  EXPECT_EQ(tap.take().first_bit_time, 32U);
  EXPECT_EQ(tap.take().first_bit_time, 48U);
  const nfr::RecordHeader gap = tap.take();
  EXPECT_EQ(gap.first_bit_time, 64U);
  EXPECT_EQ(gap.bit_times, 96U);
  EXPECT_EQ(gap.missing_bit_times, 96U);
  EXPECT_EQ(gap.flags, nfr::kNotStored | nfr::kDropped);
  EXPECT_EQ(tap.take().first_bit_time, 160U);
}

TEST(BitsLane, ASkippedGapThatFindsNoRoomIsInTheDroppedOne) {
  LaneTap tap(2 * kRecordBytes);
  push_bits(tap, 0, 16);
  push_bits(tap, 16, 16);
  push_bits(tap, 100, 16);  // 68 skipped, and no room
  EXPECT_EQ(tap.lane.dropped_bit_times(), 84U);
  (void)tap.take();
  (void)tap.take();
  push_bits(tap, 116, 8);
  const nfr::RecordHeader gap = tap.take();
  EXPECT_EQ(gap.first_bit_time, 32U);
  EXPECT_EQ(gap.bit_times, 84U);
  EXPECT_EQ(tap.take().first_bit_time, 116U);
}

TEST(BitsLane, ARestartIsMarkedAlsoWhenItFoundNoRoom) {
  LaneTap tap(2 * kRecordBytes);
  push_bits(tap, 100, 16);
  push_bits(tap, 116, 16);
  push_bits(tap, 0, 16);
  push_bits(tap, 16, 16);
  EXPECT_EQ(tap.lane.dropped_pieces(), 2U);
  (void)tap.take();
  (void)tap.take();
  push_bits(tap, 32, 4);
  EXPECT_EQ(tap.take().kind, kRestartMarker);
  EXPECT_EQ(tap.take().bit_times, 32U);  // the gap of the two
  EXPECT_EQ(tap.take().first_bit_time, 32U);
}

// Pieces that are skipped count restarts, and are neither in the lane nor gaps of it.
TEST(BitsLane, WhatIsSkippedIsNoGap) {
  LaneTap tap(4 * kRecordBytes);
  push_bits(tap, 100, 16);
  tap.lane.skip({.first_bit_time = 116, .bit_times = 50, .words = {}, .missing = {}, .stream_id = 1});
  tap.lane.skip({.first_bit_time = 0, .bit_times = 16, .words = {}, .missing = {}, .stream_id = 1});
  EXPECT_EQ(tap.lane.restarts(), 1U);
  push_bits(tap, 20, 4);
  EXPECT_EQ(tap.take().first_bit_time, 100U);
  EXPECT_EQ(tap.take().first_bit_time, 20U);
  EXPECT_EQ(tap.lane.dropped_bit_times(), 0U);
}

TEST(BitsLane, RefusesAPieceThatContradictsItself) {
  LaneTap tap(2 * kRecordBytes);
  const std::vector<std::uint32_t> words(7);
  EXPECT_THROW(tap.push({.first_bit_time = 0, .bit_times = 4, .words = words, .missing = {}}), Error);
  EXPECT_THROW(push_bits(tap, 0, 4, {{2, 2}, {3, 1}}), Error);
}

}  // namespace
}  // namespace nearfield::test
