#include "stream/packet_intake.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "stream/stream_support.hpp"

namespace nearfield {
namespace {

using test::expect_conserved;
using test::make_packet;

constexpr std::size_t kWords = 2;
constexpr std::uint64_t kPerPacket = 40;
constexpr std::int64_t kSecondNs = 1'000'000'000;

void expect_each_datagram_once(const PacketCounters& c) {
  EXPECT_EQ(c.datagrams, c.accepted + c.duplicate + c.late + c.refused + c.other_stream + c.implausible +
                             std::accumulate(c.faults.begin(), c.faults.end(), std::uint64_t{0}));
}

class PacketIntakeTest : public ::testing::Test {
 protected:
  PacketIntakeTest()
      : ring_({.words_per_element = kWords, .elements = 4096, .reorder_elements = 0}),
        intake_(ring_, {.max_jump_elements = 100'000, .restart_hold_off_ns = kSecondNs}) {}
  ~PacketIntakeTest() override {
    expect_each_datagram_once(intake_.counters());
    expect_conserved(ring_.counters());
  }

  void send(std::uint32_t stream_id, std::uint64_t first) {
    now_ns_ += 1000;
    intake_.take(make_packet(stream_id, first, kPerPacket, kWords), now_ns_);
  }
  /// The stream as the reader finds it, after all packets.
  StreamStart accept() { return ring_.accept_stream(); }

  IngestRing ring_;
  PacketIntake intake_;
  std::int64_t now_ns_ = kSecondNs;
};

TEST_F(PacketIntakeTest, TheFirstPacketBeginsTheStream) {
  send(5, 777);
  EXPECT_EQ(accept().first_element, 777U);
  EXPECT_EQ(ring_.available_end(), 777 + kPerPacket);
  EXPECT_EQ(intake_.counters().accepted, 1U);
}

TEST_F(PacketIntakeTest, ARestartNeedsTwoPacketsInARow) {
  send(5, 0);
  send(6, 1000);
  EXPECT_EQ(intake_.counters().other_stream, 1U);
  send(5, kPerPacket);  // the old stream goes on: the stranger is forgotten
  send(6, 1000 + kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 0U);
  send(6, 1000 + 3 * kPerPacket);  // does not follow on the one before
  EXPECT_EQ(intake_.counters().restarts, 0U);
  send(6, 1000 + 4 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 1U);
  EXPECT_EQ(intake_.counters().other_stream, 3U);
  const StreamStart start = accept();
  EXPECT_EQ(start.stream_id, 6U);
  EXPECT_EQ(start.first_element, 1000 + 4 * kPerPacket);
}

TEST_F(PacketIntakeTest, AStreamThatWasLeftStaysAwayForASecond) {
  send(5, 0);
  send(6, 0);
  send(6, kPerPacket);
  ASSERT_EQ(intake_.counters().restarts, 1U);
  for (std::uint64_t i = 1; i < 20; ++i) {
    send(5, i * kPerPacket);
  }
  EXPECT_EQ(intake_.counters().restarts, 1U);
  now_ns_ += kSecondNs;
  send(5, 20 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 2U);
  EXPECT_EQ(accept().stream_id, 5U);
}

TEST_F(PacketIntakeTest, TwoSendersOnOnePortDoNotTakeTurns) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    send(5, i * kPerPacket);
    send(6, i * kPerPacket);
  }
  EXPECT_EQ(intake_.counters().restarts, 0U);
  EXPECT_EQ(intake_.counters().accepted, 100U);
  EXPECT_EQ(intake_.counters().other_stream, 100U);
}

TEST_F(PacketIntakeTest, AnAbsurdJumpNeedsAWitness) {
  send(5, 0);
  now_ns_ += 2 * kSecondNs;
  send(5, std::uint64_t{1} << 60U);
  EXPECT_EQ(intake_.counters().implausible, 1U);
  send(5, kPerPacket);
  EXPECT_EQ(intake_.counters().accepted, 2U);
  send(5, std::uint64_t{1} << 50U);
  send(5, (std::uint64_t{1} << 50U) + kPerPacket);
  EXPECT_EQ(intake_.counters().implausible, 2U);
  EXPECT_EQ(intake_.counters().restarts, 1U);
  EXPECT_EQ(accept().first_element, (std::uint64_t{1} << 50U) + kPerPacket);
}

TEST_F(PacketIntakeTest, ACounterThatBeganAgainIsFollowedAfterTheHoldOff) {
  send(5, 10'000'000);
  send(5, 0);
  send(5, kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 0U) << "too soon after the start";
  now_ns_ += kSecondNs;
  send(5, 2 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 1U);
}

TEST_F(PacketIntakeTest, AModestJumpIsAGap) {
  send(5, 0);
  send(5, 90'000);
  accept();
  std::vector<std::uint32_t> words((90'000 + kPerPacket) * kWords);
  EXPECT_EQ(ring_.take(0, words).missing, 90'000U) << "the first packet was overrun by the jump";
  EXPECT_EQ(ring_.counters().overrun, kPerPacket);
}

TEST_F(PacketIntakeTest, TheClockPasses2To64) {
  const std::uint64_t start = std::uint64_t{0} - 3 * kPerPacket - 7;
  for (std::uint64_t i = 0; i < 6; ++i) {
    send(5, start + i * kPerPacket);
  }
  accept();
  std::vector<std::uint32_t> words(6 * kPerPacket * kWords);
  EXPECT_EQ(ring_.take(start, words).missing, 0U);
  EXPECT_EQ(test::count_silence(words, start, kWords, 5), 0U);
}

TEST_F(PacketIntakeTest, FaultsAreCountedApart) {
  send(5, 0);
  auto bytes = make_packet(5, kPerPacket, kPerPacket, kWords);
  bytes[40] ^= std::byte{1};
  intake_.take(bytes, now_ns_);
  bytes.resize(50);
  intake_.take(bytes, now_ns_);
  intake_.take({}, now_ns_);
  bytes[0] = std::byte{'X'};
  intake_.take(bytes, now_ns_);
  intake_.take(make_packet(5, kPerPacket, kPerPacket, kWords + 1), now_ns_);
  intake_.take(make_packet(5, kPerPacket, kPerPacket, kWords, true, PayloadKind::kSamples), now_ns_);
  const PacketCounters counters = intake_.counters();
  EXPECT_EQ(counters.fault(PacketFault::kCrc), 1U);
  EXPECT_EQ(counters.fault(PacketFault::kLength), 2U);
  EXPECT_EQ(counters.fault(PacketFault::kForeign), 1U);
  EXPECT_EQ(counters.fault(PacketFault::kWords), 1U);
  EXPECT_EQ(counters.fault(PacketFault::kKind), 1U);
  EXPECT_EQ(counters.accepted, 1U);
}

}  // namespace
}  // namespace nearfield
