#include "stream/packets/packet_intake.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "stream/source.hpp"
#include "stream/stream_support.hpp"

namespace nearfield {
namespace {

using test::expect_conserved;
using test::make_packet;

constexpr std::size_t kWords = 2;
constexpr std::uint64_t kPerPacket = 40;
constexpr std::uint64_t kNear = 16 * kPerPacket;  ///< nearer packets are never held
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kSilenceNs = kSecondNs / 10;

Peer peer(const std::string& address, std::uint16_t port) { return {parse_network(address).value().first, port}; }

void expect_each_datagram_once(const PacketCounters& c) {
  EXPECT_EQ(c.datagrams, c.accepted + c.duplicate + c.late + c.refused + c.other_stream + c.implausible + c.held +
                             c.not_allowed + std::accumulate(c.faults.begin(), c.faults.end(), std::uint64_t{0}));
}

class PacketIntakeTest : public ::testing::Test {
 protected:
  PacketIntakeTest()
      : ring_({.words_per_element = kWords, .elements = 4096, .reorder_elements = 0}),
        intake_(ring_, intake_settings({.allowed_from = {"10.0.0.0/8"},
                                        .takeover_after_ms = 100.0,
                                        .restart_hold_off_ms = 1000.0,
                                        .max_jump_bit_times = 100'000})) {}
  ~PacketIntakeTest() override {
    expect_each_datagram_once(intake_.counters());
    expect_conserved(ring_.counters());
  }

  void send(std::uint32_t stream_id, std::uint64_t first) { send_from(peer("10.0.0.1", 4000), stream_id, first); }
  void send_from(const Peer& from, std::uint32_t stream_id, std::uint64_t first) {
    now_ns_ += 1000;
    intake_.take(make_packet(stream_id, first, kPerPacket, kWords), arrival(from));
  }
  [[nodiscard]] Arrival arrival(const Peer& from) const {
    return {.from = from, .after_ns = now_ns_, .now_ns = now_ns_};
  }
  [[nodiscard]] Arrival arrival() const { return arrival(peer("10.0.0.1", 4000)); }
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

TEST_F(PacketIntakeTest, ARestartNeedsSilenceAndTwoPacketsInARow) {
  send(5, 0);
  now_ns_ += kSecondNs;
  send(6, 1000);
  EXPECT_EQ(intake_.counters().other_stream, 1U);
  send(5, kPerPacket);  // the old stream goes on: the stranger is forgotten
  send(6, 1000 + kPerPacket);
  send(6, 1000 + 2 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 0U) << "the old stream is not silent";
  now_ns_ += kSilenceNs;
  send(6, 1000 + 3 * kPerPacket);
  send(6, 1000 + 5 * kPerPacket);  // does not follow on the one before
  EXPECT_EQ(intake_.counters().restarts, 0U);
  send(6, 1000 + 6 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 1U);
  EXPECT_EQ(intake_.counters().other_stream, 5U);
  const StreamStart start = accept();
  EXPECT_EQ(start.stream_id, 6U);
  EXPECT_EQ(start.first_element, 1000 + 6 * kPerPacket);
}

/// Packets in pairs, each pair under an id of its own, between a source's: a source that goes on loses nothing.
TEST_F(PacketIntakeTest, FreshIdsInPairsDoNotTakeTheStreamAway) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    now_ns_ += 10'000'000;
    send(5, i * kPerPacket);
    const auto fresh = static_cast<std::uint32_t>(1000 + i);
    send(fresh, i * 7777);
    send(fresh, i * 7777 + kPerPacket);
  }
  EXPECT_EQ(intake_.counters().restarts, 0U);
  EXPECT_EQ(intake_.counters().accepted, 1000U);
  EXPECT_EQ(intake_.counters().other_stream, 2000U);
}

TEST_F(PacketIntakeTest, AfterAStartNoOtherStreamBeginsForASecond) {
  send(5, 0);
  now_ns_ += kSecondNs;
  send(6, 0);
  send(6, kPerPacket);
  ASSERT_EQ(intake_.counters().restarts, 1U);
  now_ns_ += kSilenceNs;
  for (std::uint64_t i = 1; i < 20; ++i) {
    send(7, i * kPerPacket);
  }
  EXPECT_EQ(intake_.counters().restarts, 1U);
  now_ns_ += kSecondNs;
  send(7, 20 * kPerPacket);
  send(7, 21 * kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 2U);
  EXPECT_EQ(accept().stream_id, 7U);
}

TEST_F(PacketIntakeTest, TwoSendersOnOnePortDoNotTakeTurnsAndAreNamed) {
  EXPECT_FALSE(intake_.sender().has_value());
  for (std::uint64_t i = 0; i < 100; ++i) {
    now_ns_ += kSilenceNs / 2;
    send_from(peer("10.0.0.1", 4000), 5, i * kPerPacket);
    send_from(peer("10.9.8.7", 4001), 6, i * kPerPacket);
  }
  EXPECT_EQ(intake_.counters().restarts, 0U);
  EXPECT_EQ(intake_.counters().accepted, 100U);
  EXPECT_EQ(intake_.counters().other_stream, 100U);
  ASSERT_TRUE(intake_.sender() && intake_.other());
  EXPECT_EQ(text_of(intake_.sender()->peer), "10.0.0.1:4000");
  EXPECT_EQ(intake_.sender()->stream_id, 5U);
  EXPECT_EQ(text_of(intake_.other()->peer), "10.9.8.7:4001");
  EXPECT_EQ(intake_.other()->stream_id, 6U);
  EXPECT_EQ(intake_.other()->seen_ns, now_ns_);
}

/// A stopped daemon finds both senders' packets in the socket: its own absence does not count as a sender's silence.
TEST_F(PacketIntakeTest, AReceiverThatSleptDoesNotTakeItForTheSendersSilence) {
  send(5, 0);
  const std::int64_t before_ns = now_ns_;
  now_ns_ += 3 * kSecondNs;
  const auto late = [&](std::uint32_t id, std::uint64_t first) {
    intake_.take(make_packet(id, first, kPerPacket, kWords),
                 {.from = peer("10.0.0.1", 4000), .after_ns = before_ns, .now_ns = now_ns_});
  };
  late(6, 0);
  late(6, kPerPacket);
  late(5, kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 0U);
  EXPECT_EQ(intake_.counters().accepted, 2U);
}

TEST_F(PacketIntakeTest, OnlyPermittedAddressesSend) {
  send_from(peer("11.0.0.1", 4000), 4, 0);
  EXPECT_EQ(intake_.counters().not_allowed, 1U);
  send_from(peer("10.255.0.1", 4000), 5, 0);
  send_from(peer("::1", 4000), 5, kPerPacket);
  EXPECT_EQ(intake_.counters().not_allowed, 2U);
  EXPECT_EQ(intake_.counters().accepted, 1U);
  EXPECT_EQ(accept().stream_id, 5U);
}

TEST_F(PacketIntakeTest, AnAbsurdJumpNeedsSilenceAndAWitness) {
  send(5, 0);
  now_ns_ += 2 * kSecondNs;
  send(5, std::uint64_t{1} << 60U);
  EXPECT_EQ(intake_.counters().implausible, 1U);
  send(5, kPerPacket);
  EXPECT_EQ(intake_.counters().accepted, 2U);
  send(5, std::uint64_t{1} << 50U);
  send(5, (std::uint64_t{1} << 50U) + kPerPacket);
  EXPECT_EQ(intake_.counters().restarts, 0U) << "the stream was there a moment ago";
  now_ns_ += kSilenceNs;
  send(5, (std::uint64_t{1} << 50U) + 2 * kPerPacket);
  send(5, (std::uint64_t{1} << 50U) + 3 * kPerPacket);
  EXPECT_EQ(intake_.counters().implausible, 4U);
  EXPECT_EQ(intake_.counters().restarts, 1U);
  EXPECT_EQ(accept().first_element, (std::uint64_t{1} << 50U) + 3 * kPerPacket);
}

TEST_F(PacketIntakeTest, ACounterThatBeganAgainIsFollowedAfterSilence) {
  for (const std::uint64_t first :
       {std::uint64_t{10'000'000}, std::uint64_t{50'000}}) {  // further than a gap may be, and nearer
    send(5, first);
    now_ns_ += kSecondNs;
    send(5, first + kPerPacket);
    const std::uint64_t restarts = intake_.counters().restarts;
    send(5, 0);
    send(5, kPerPacket);
    EXPECT_EQ(intake_.counters().restarts, restarts) << "too soon";
    now_ns_ += kSilenceNs;
    send(5, 2 * kPerPacket);
    send(5, 3 * kPerPacket);
    EXPECT_EQ(intake_.counters().restarts, restarts + 1);
    EXPECT_EQ(accept().first_element, 3 * kPerPacket);
    now_ns_ += kSecondNs;
  }
}

/// One packet far ahead, under the right id: the engine would have taken all before it for lost.
TEST_F(PacketIntakeTest, APacketFarAheadIsHeldUntilAnotherOneConfirmsIt) {
  send(5, 0);
  for (const std::uint64_t ahead : {std::uint64_t{1000}, std::uint64_t{90'000}}) {
    const PacketCounters before = intake_.counters();
    const std::uint64_t next = ring_.written_end();
    send(5, next + ahead);
    EXPECT_EQ(ring_.written_end(), next);
    EXPECT_EQ(intake_.counters().held, 1U);
    send(5, next);  // the stream goes on where it was
    EXPECT_EQ(ring_.written_end(), next + kPerPacket);
    EXPECT_EQ(intake_.counters().held, 0U);
    EXPECT_EQ(intake_.counters().implausible, before.implausible + 1);
    send(5, next + ahead + kPerPacket);
    send(5, next + ahead + 3 * kPerPacket);  // one of them was lost: it is a gap all the same
    EXPECT_EQ(ring_.written_end(), next + ahead + 4 * kPerPacket);
    EXPECT_EQ(intake_.counters().accepted, before.accepted + 3);
    EXPECT_EQ(intake_.counters().restarts, 0U);
  }
}

TEST_F(PacketIntakeTest, APacketThatComesLateAcrossAGapRefutesNothing) {
  send(5, 0);
  send(5, 2 * kPerPacket);
  send(5, 10'000);
  send(5, kPerPacket);
  EXPECT_EQ(intake_.counters().held, 1U);
  send(5, 10'000 + kPerPacket);
  EXPECT_EQ(intake_.counters().accepted, 5U);
  EXPECT_EQ(intake_.counters().implausible, 0U);
}

TEST_F(PacketIntakeTest, ANearGapIsTakenAtOnce) {
  send(5, 0);
  send(5, kPerPacket + kNear);
  EXPECT_EQ(intake_.counters().accepted, 2U);
  accept();
  std::vector<std::uint32_t> words((kNear + 2 * kPerPacket) * kWords);
  EXPECT_EQ(ring_.take(0, words).missing, kNear);
}

TEST_F(PacketIntakeTest, AModestJumpIsAGap) {
  send(5, 0);
  send(5, 90'000);
  send(5, 90'000 + kPerPacket);
  accept();
  std::vector<std::uint32_t> words((90'000 + 2 * kPerPacket) * kWords);
  EXPECT_EQ(ring_.take(0, words).missing, 90'000U) << "the jump overwrote the first packet";
  EXPECT_EQ(ring_.counters().abandoned, kPerPacket);
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
  intake_.take(bytes, arrival());
  bytes.resize(50);
  intake_.take(bytes, arrival());
  intake_.take({}, arrival());
  bytes[0] = std::byte{'X'};
  intake_.take(bytes, arrival());
  intake_.take(make_packet(5, kPerPacket, kPerPacket, kWords + 1), arrival());
  intake_.take(make_packet(5, kPerPacket, kPerPacket, kWords, true, PayloadKind::kSamples), arrival());
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
