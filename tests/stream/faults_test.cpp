#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/error.hpp"
#include "stream/packets/packet_intake.hpp"
#include "stream/sending/packet_sender.hpp"
#include "stream/source.hpp"
#include "stream/stream_support.hpp"

/// Seeded runs: what a FaultInjector did to packets is what the counters and the delivered words must say, exactly.
namespace nearfield {
namespace {

using test::count_silence;
using test::expect_conserved;
using test::make_packet;

constexpr std::size_t kWords = 2;  // 8 x 8 microphones
constexpr std::uint64_t kRingElements = 16'384;
constexpr std::uint64_t kReorder = 4096;  // more than the injector ever holds a packet back
constexpr std::uint64_t kPackets = 400;
constexpr unsigned kSeeds = 200;

/// Where a run's packets lie: lengths that are no multiples of 32, gaps of the source's own, a start anywhere.
struct Plan {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t source_gaps;  ///< elements the source itself left out
  struct Piece {
    std::uint64_t first;
    std::size_t count;
  };
  std::vector<Piece> pieces;
};

Plan make_plan(std::mt19937_64& generator, unsigned seed) {
  const auto below = [&](std::uint64_t limit) { return generator() % limit; };
  Plan plan{};
  plan.start = seed % 3 == 0 ? std::uint64_t{0} - below(20'000) : seed % 3 == 1 ? generator() : below(100);
  std::uint64_t next = plan.start;
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    if (i > 0 && below(100) == 0) {
      const std::uint64_t gap = 1 + below(3000);
      plan.source_gaps += gap;
      next += gap;
    }
    const std::size_t count = 1 + below(100);
    plan.pieces.push_back({next, count});
    next += count;
  }
  plan.end = next;
  return plan;
}

FaultRates make_rates(std::mt19937_64& generator, unsigned seed) {
  std::uniform_real_distribution<double> exponent(-4.0, -1.0);  // 0.01 % to 10 %
  const auto share = [&] { return std::pow(10.0, exponent(generator)); };
  return {
      .loss = share(), .reorder = share(), .duplicate = share(), .truncate = share(), .flip = share(), .seed = seed};
}

/// Takes whatever is ready and holds it against the source.
class Reader {
 public:
  explicit Reader(IngestRing& ring) : ring_(&ring) {}
  void begin() { next_ = ring_->accept_stream().first_element; }
  void take_ready(std::size_t count) {
    while (ring_->wait_for(next_ + count, 0) == WaitResult::kReady) {
      std::vector<std::uint32_t> words(count * kWords);
      const TakeResult result = ring_->take(next_, words);
      EXPECT_EQ(count_silence(words, next_, kWords), result.missing);
      missing_ += result.missing;
      next_ += count;
    }
  }
  [[nodiscard]] std::uint64_t missing() const { return missing_; }
  [[nodiscard]] std::uint64_t next() const { return next_; }

 private:
  IngestRing* ring_;
  std::uint64_t next_ = 0;
  std::uint64_t missing_ = 0;
};

std::uint64_t faults_of(const PacketCounters& counters) {
  return std::accumulate(counters.faults.begin(), counters.faults.end(), std::uint64_t{0});
}

struct FaultyRun {
  FaultCounts injected;
  PacketCounters packets;
  RingCounters ring;
  std::uint64_t reader_missing = 0;
  std::uint64_t lost_elements = 0;  ///< of packets that never came sound
  std::uint64_t expected = 0;
  std::uint64_t source_gaps = 0;
};

FaultyRun run_with_faults(unsigned seed) {
  std::mt19937_64 generator(seed);
  const Plan plan = make_plan(generator, seed);
  const FaultRates rates = make_rates(generator, seed);
  IngestRing ring({.words_per_element = kWords, .elements = kRingElements, .reorder_elements = kReorder});
  PacketIntake intake(ring, intake_settings({.require_crc = true}));
  Reader reader(ring);
  std::vector<std::vector<std::byte>> sound;
  for (const Plan::Piece& piece : plan.pieces) {
    sound.push_back(make_packet(1, piece.first, piece.count, kWords));
  }
  std::vector<bool> arrived(sound.size(), false);
  std::size_t newest = 0;
  FaultInjector faults(rates, [&](std::span<const std::byte> datagram) {
    for (std::size_t i = newest < 20 ? 0 : newest - 20; i <= newest; ++i) {
      arrived[i] = arrived[i] || std::equal(sound[i].begin(), sound[i].end(), datagram.begin(), datagram.end());
    }
    intake.take(datagram, {.from = {}, .after_ns = 1, .now_ns = 1});
  });
  // The first packet begins the stream and the last one ends what is expected: nothing happens to these.
  faults.push_intact(sound.front());
  reader.begin();
  for (newest = 1; newest + 1 < sound.size(); ++newest) {
    faults.push(sound[newest]);
    reader.take_ready(1 + newest % 200);
  }
  faults.push_intact(sound.back());
  ring.end_stream();
  reader.take_ready(64);
  reader.take_ready(1);
  EXPECT_EQ(reader.next(), plan.end);
  FaultyRun run{faults.counts(),       intake.counters(), ring.counters(), reader.missing(), 0,
                plan.end - plan.start, plan.source_gaps};
  for (std::size_t i = 0; i < sound.size(); ++i) {
    run.lost_elements += arrived[i] ? 0U : plan.pieces[i].count;
  }
  return run;
}

TEST(Faults, InjectedIsFlaggedExactlyIn200SeededRuns) {
  FaultCounts all;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    const FaultyRun run = run_with_faults(seed);
    SCOPED_TRACE(seed);
    EXPECT_EQ(run.injected.packets, kPackets);
    EXPECT_EQ(run.packets.datagrams, kPackets - run.injected.lost + run.injected.duplicated);
    EXPECT_EQ(run.packets.accepted, kPackets - run.injected.lost - run.injected.truncated - run.injected.flipped);
    EXPECT_EQ(run.packets.duplicate, run.injected.duplicated);
    EXPECT_EQ(run.packets.reordered, run.injected.reordered);
    EXPECT_EQ(faults_of(run.packets), run.injected.truncated + run.injected.flipped);
    EXPECT_EQ(run.packets.late + run.packets.refused + run.packets.other_stream + run.packets.implausible, 0U);
    EXPECT_EQ(run.ring.missing, run.lost_elements + run.source_gaps);
    EXPECT_EQ(run.ring.missing, run.reader_missing);
    EXPECT_EQ(run.ring.taken, run.expected);
    EXPECT_EQ(run.ring.delivered + run.ring.missing, run.expected);
    EXPECT_EQ(run.ring.pending, 0U);
    expect_conserved(run.ring);
    all.lost += run.injected.lost;
    all.reordered += run.injected.reordered;
    all.duplicated += run.injected.duplicated;
    all.truncated += run.injected.truncated;
    all.flipped += run.injected.flipped;
  }
  // Enough of each that a fault that goes uncounted can't hide: 80,000 packets, on average 1.4 % of each kind.
  EXPECT_GT(std::min({all.lost, all.reordered, all.duplicated, all.truncated, all.flipped}), 500U);
}

TEST(Faults, TooLateIsLateAndMissing) {
  IngestRing ring({.words_per_element = kWords, .elements = 1024, .reorder_elements = 50});
  PacketIntake intake(ring, intake_settings({}));
  const Arrival arrival{.from = {}, .after_ns = 1, .now_ns = 1};
  intake.take(make_packet(1, 0, 20, kWords), arrival);
  Reader reader(ring);
  reader.begin();
  intake.take(make_packet(1, 40, 70, kWords), arrival);
  reader.take_ready(60);
  EXPECT_EQ(reader.missing(), 20U);
  intake.take(make_packet(1, 20, 20, kWords), arrival);
  EXPECT_EQ(intake.counters().late, 1U);
  EXPECT_EQ(ring.counters().late, 20U);
  expect_conserved(ring.counters());
}

/// What the injector says it did, held against what comes out of it.
TEST(Faults, InjectorSaysWhatItDid) {
  std::vector<std::vector<std::byte>> out;
  FaultInjector injector({.loss = 0.1, .reorder = 0.1, .duplicate = 0.1, .truncate = 0.1, .flip = 0.1, .seed = 8},
                         [&](std::span<const std::byte> packet) { out.emplace_back(packet.begin(), packet.end()); });
  constexpr std::uint64_t kCount = 2000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    injector.push(make_packet(1, i, 1, kWords));
  }
  injector.flush();
  const FaultCounts& counts = injector.counts();
  EXPECT_EQ(out.size(), kCount - counts.lost + counts.duplicated);
  std::uint64_t sound = 0;
  std::uint64_t behind = 0;
  std::uint64_t again = 0;
  std::uint64_t newest = 0;
  std::vector<bool> seen(kCount, false);
  for (const auto& bytes : out) {
    const auto parsed = parse_packet(bytes, {.words_per_element = kWords, .require_crc = true});
    if (const auto* packet = std::get_if<Packet>(&parsed)) {
      const bool known = seen[packet->first_element];
      seen[packet->first_element] = true;
      ++sound;
      again += known ? 1U : 0U;
      behind += !known && packet->first_element < newest ? 1U : 0U;
      newest = std::max(newest, packet->first_element);
    }
  }
  EXPECT_EQ(sound, out.size() - counts.truncated - counts.flipped);
  EXPECT_EQ(again, counts.duplicated);
  EXPECT_EQ(behind, counts.reordered);
  for (const std::uint64_t count :
       {counts.lost, counts.reordered, counts.duplicated, counts.truncated, counts.flipped}) {
    EXPECT_NEAR(static_cast<double>(count), 200.0, 70.0);  // 5 standard deviations of a binomial, 13.4
  }
}

TEST(Faults, RatesThatAreNoSharesAreRefused) {
  const auto ignore = [](std::span<const std::byte>) {};
  EXPECT_THROW(FaultInjector({.loss = 1.1}, ignore), ConfigError);
  EXPECT_THROW(FaultInjector({.flip = -0.1}, ignore), ConfigError);
  EXPECT_THROW(FaultInjector({.loss = 0.6, .flip = 0.6}, ignore), ConfigError);
  EXPECT_THROW(FaultInjector({.loss = std::nan("")}, ignore), ConfigError);
}

}  // namespace
}  // namespace nearfield
