#include "stream/ingest_ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/stream_support.hpp"

namespace nearfield {
namespace {

using test::count_silence;
using test::expect_conserved;
using test::kNeverNs;
using test::source_words;

constexpr std::size_t kWords = 3;

IngestRing small_ring(std::uint64_t elements = 256, std::uint64_t reorder = 0) {
  return IngestRing({.words_per_element = kWords, .elements = elements, .reorder_elements = reorder});
}

IngestRing::StoreResult store(IngestRing& ring, std::uint64_t first, std::size_t count, std::int64_t now_ns = 1) {
  const auto words = source_words(first, count, kWords);
  return ring.store(first, std::as_bytes(std::span(words)), now_ns);
}

struct Taken {
  TakeResult result;
  std::uint64_t silent;
};

Taken take(IngestRing& ring, std::uint64_t first, std::size_t count) {
  std::vector<std::uint32_t> words(count * kWords, 0x5A5A5A5AU);
  const TakeResult result = ring.take(first, words);
  return {result, count_silence(words, first, kWords)};
}

/// A reader must find what was stored, and silence elsewhere, from any start, also over 2^64.
TEST(IngestRing, DeliversFromAnyStart) {
  for (const std::uint64_t start : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{1} << 40U,
                                    std::uint64_t{0} - 77, std::uint64_t{1} << 63U}) {
    IngestRing ring = small_ring();
    ring.begin_stream(9, start);
    ASSERT_EQ(ring.wait_for(start, 0), WaitResult::kNewStream);
    const StreamStart stream = ring.accept_stream();
    EXPECT_EQ(stream.stream_id, 9U);
    EXPECT_EQ(stream.first_element, start);
    EXPECT_EQ(stream.number, 1U);
    for (std::uint64_t offset = 0; offset < 1000; offset += 50) {
      if (offset % 200 != 100) {
        EXPECT_EQ(store(ring, start + offset, 50).stored, 50U);
      }
      if (offset % 100 == 50) {
        EXPECT_EQ(ring.wait_for(start + offset + 50, 0), WaitResult::kReady);
        const Taken taken = take(ring, start + offset - 50, 100);
        EXPECT_EQ(taken.result.missing, offset % 200 == 150 ? 50U : 0U) << start << " " << offset;
        EXPECT_EQ(taken.silent, taken.result.missing);
      }
    }
    expect_conserved(ring.counters());
    EXPECT_EQ(ring.counters().missing, 250U);
    EXPECT_EQ(ring.counters().pending, 0U);
  }
}

TEST(IngestRing, ReorderedLateAndDuplicateAreToldApart) {
  IngestRing ring = small_ring(256, 100);
  ring.begin_stream(1, 1000);
  EXPECT_EQ(store(ring, 1000, 20).stored, 20U);
  EXPECT_EQ(store(ring, 1040, 20).stored, 20U);
  ring.accept_stream();
  EXPECT_EQ(ring.wait_for(1060, 0), WaitResult::kTimeout) << "20 elements may still come";
  const auto reordered = store(ring, 1010, 40);  // 10 and 10 of them are there
  EXPECT_EQ(reordered.stored, 20U);
  EXPECT_EQ(reordered.duplicate, 20U);
  EXPECT_TRUE(reordered.behind);
  EXPECT_EQ(ring.wait_for(1060, 0), WaitResult::kReady) << "nothing more to wait for";
  EXPECT_EQ(take(ring, 1000, 30).silent, 0U);
  EXPECT_EQ(store(ring, 1000, 20).duplicate, 20U) << "taken already, but it had been there";
  const auto before = store(ring, 990, 20);
  EXPECT_EQ(before.late, 10U) << "before the stream's start";
  EXPECT_EQ(before.duplicate, 10U);
  EXPECT_EQ(store(ring, 1080, 100).stored, 100U);
  EXPECT_EQ(ring.wait_for(1080, 0), WaitResult::kReady) << "100 behind the newest: given up";
  const Taken taken = take(ring, 1030, 50);
  EXPECT_EQ(taken.result.missing, 20U);
  EXPECT_EQ(taken.silent, 20U);
  EXPECT_EQ(store(ring, 1055, 20).late, 15U);
  expect_conserved(ring.counters());
  EXPECT_EQ(ring.counters().late, 25U);
  EXPECT_EQ(ring.counters().duplicate, 55U);
}

TEST(IngestRing, OverrunIsMissingToTheReader) {
  IngestRing ring = small_ring(128);
  ring.begin_stream(1, 5);
  ring.accept_stream();
  for (std::uint64_t first = 5; first < 505; first += 20) {
    EXPECT_EQ(store(ring, first, 20).stored, 20U);
  }
  const RingCounters before = ring.counters();
  EXPECT_EQ(before.overrun, 500U - 128U);
  EXPECT_EQ(before.pending, 128U);
  expect_conserved(before);
  const Taken taken = take(ring, 5, 500);
  EXPECT_EQ(taken.result.missing, 372U);
  EXPECT_EQ(taken.silent, 372U);
  expect_conserved(ring.counters());
}

TEST(IngestRing, AJumpBeyondTheRingLeavesSilenceAndKeepsTheClock) {
  IngestRing ring = small_ring(128);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 50);
  EXPECT_EQ(store(ring, 10'000, 50).stored, 50U);
  EXPECT_EQ(ring.available_end(), 10'050U);
  const Taken taken = take(ring, 0, 10'050);
  EXPECT_EQ(taken.result.missing, 10'000U);
  EXPECT_EQ(taken.silent, 10'000U);
  EXPECT_EQ(ring.counters().abandoned, 50U) << "no reader is too slow for a jump";
  EXPECT_EQ(ring.counters().overrun, 0U);
  expect_conserved(ring.counters());
}

TEST(IngestRing, APacketLongerThanTheRingIsStoredInTurn) {
  IngestRing ring = small_ring(64);
  ring.begin_stream(1, 3);
  ring.accept_stream();
  EXPECT_EQ(store(ring, 3, 200).stored, 200U);
  EXPECT_EQ(take(ring, 3, 200).silent, 136U);
  expect_conserved(ring.counters());
}

TEST(IngestRing, SkippedElementsAreCounted) {
  IngestRing ring = small_ring(256);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 100);
  store(ring, 150, 50);
  EXPECT_EQ(take(ring, 160, 40).silent, 0U);
  EXPECT_EQ(ring.counters().skipped, 110U);
  EXPECT_EQ(ring.counters().missing, 50U) << "what never came is missing also where the reader passes over it";
  EXPECT_EQ(ring.counters().taken, 90U);
  EXPECT_THROW(take(ring, 150, 10), Error) << "taken already";
  EXPECT_THROW(take(ring, 200, 1), Error) << "not there yet";
  expect_conserved(ring.counters());
}

/// What a reader may pass over: nothing that came, nothing that still may come.
TEST(IngestRing, AGapEndsWhereSomethingCameOrMayCome) {
  IngestRing ring = small_ring(1024, 100);
  ring.begin_stream(1, 50);
  ring.accept_stream();
  store(ring, 50, 100);
  EXPECT_EQ(ring.missing_end(50), 50U);
  EXPECT_EQ(ring.missing_end(150), 150U);
  store(ring, 600, 10);
  EXPECT_EQ(ring.missing_end(100), 100U);
  EXPECT_EQ(ring.missing_end(150), 510U) << "100 behind the newest";
  store(ring, 700, 10);
  EXPECT_EQ(ring.missing_end(150), 600U);
  EXPECT_EQ(ring.missing_end(600), 600U);
  EXPECT_EQ(ring.missing_end(610), 610U) << "may still come";
  store(ring, 100'000, 10);
  EXPECT_EQ(ring.missing_end(150), 99'910U) << "overwritten without having been taken";
  ring.end_stream();
  EXPECT_EQ(ring.missing_end(150), 100'000U);
  EXPECT_EQ(take(ring, 99'990, 20).result.missing, 10U);
  EXPECT_EQ(ring.counters().missing, 100'010U - 50U - 10U) << "of all that was not delivered";
  EXPECT_EQ(ring.counters().abandoned, 120U);
  expect_conserved(ring.counters());
}

TEST(IngestRing, ANewStreamFollowsWhenTheOldOneIsUsedUp) {
  IngestRing ring = small_ring(256, 64);
  ring.begin_stream(1, 100);
  ring.accept_stream();
  store(ring, 100, 90);
  ring.begin_stream(2, 7);
  const auto words = source_words(7, 40, kWords, 2);
  ring.store(7, std::as_bytes(std::span(words)), 1);
  EXPECT_EQ(ring.available_end(), 190U);
  EXPECT_EQ(ring.wait_for(140, 0), WaitResult::kReady);
  EXPECT_EQ(take(ring, 100, 40).silent, 0U);
  EXPECT_EQ(ring.wait_for(191, 0), WaitResult::kNewStream);
  const StreamStart start = ring.accept_stream();
  EXPECT_EQ(start.stream_id, 2U);
  EXPECT_EQ(start.first_element, 7U);
  EXPECT_EQ(start.number, 2U);
  EXPECT_EQ(ring.counters().abandoned, 50U);
  std::vector<std::uint32_t> taken(40 * kWords);
  EXPECT_EQ(ring.take(7, taken).missing, 0U);
  EXPECT_EQ(count_silence(taken, 7, kWords, 2), 0U);
  expect_conserved(ring.counters());
}

TEST(IngestRing, ManyStreamsWhileTheReaderSleeps) {
  IngestRing ring = small_ring(1024);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  for (std::uint32_t id = 2; id < 60; ++id) {
    ring.begin_stream(id, id * 1000);
    const auto words = source_words(id * 1000, 10, kWords, id);
    ring.store(id * 1000, std::as_bytes(std::span(words)), 1);
  }
  ASSERT_EQ(ring.wait_for(1, 0), WaitResult::kNewStream);
  EXPECT_EQ(ring.accept_stream().stream_id, 59U);
  std::vector<std::uint32_t> taken(10 * kWords);
  EXPECT_EQ(ring.take(59'000, taken).missing, 0U);
  expect_conserved(ring.counters());
  EXPECT_EQ(ring.counters().abandoned + ring.counters().overrun, 57U * 10U);
}

// Streams begin so quickly that entries are reused while the reader reads them: number, name and start belong together.
TEST(IngestRing, AnAcceptedStreamIsOneThatBegan) {
  IngestRing ring = small_ring();
  constexpr std::uint32_t kAll = 20'000;
  std::thread writer([&] {
    for (std::uint32_t id = 1; id <= kAll; ++id) {
      while (!ring.begin_stream(id, std::uint64_t{id} * 1000)) {
        std::this_thread::yield();
      }
    }
  });
  StreamStart start;
  while (start.number < kAll && ring.wait_for_stream(kNeverNs)) {
    start = ring.accept_stream();
    EXPECT_EQ(start.stream_id, start.number);
    EXPECT_EQ(start.first_element, start.number * 1000);
  }
  writer.join();
  EXPECT_EQ(start.number, kAll);
}

TEST(IngestRing, TheEndOfAStreamIsTold) {
  IngestRing ring = small_ring(256, 64);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 30);
  store(ring, 40, 10);
  EXPECT_EQ(ring.wait_for(50, 0), WaitResult::kTimeout);
  ring.end_stream();
  EXPECT_EQ(ring.wait_for(50, 0), WaitResult::kReady);
  EXPECT_EQ(ring.wait_for(51, 0), WaitResult::kEnded);
  EXPECT_EQ(take(ring, 0, 50).result.missing, 10U);
}

TEST(IngestRing, SamplesFallSilentAsZeros) {
  IngestRing ring({.kind = PayloadKind::kSamples, .words_per_element = kWords, .elements = 64, .reorder_elements = 0});
  ring.begin_stream(1, 11);
  ring.accept_stream();
  store(ring, 11, 4);
  store(ring, 20, 4);
  std::vector<std::uint32_t> words(13 * kWords);
  EXPECT_EQ(ring.take(11, words).missing, 5U);
  EXPECT_EQ(count_silence(words, 11, kWords, 1, PayloadKind::kSamples), 5U);
}

TEST(IngestRing, APollFindsWhatAWaitFinds) {
  IngestRing ring = small_ring(256, 100);
  const std::int64_t begin_ns = monotonic_ns();
  EXPECT_EQ(ring.poll_for(32, begin_ns + 2'000'000), WaitResult::kTimeout);
  EXPECT_GE(monotonic_ns() - begin_ns, 2'000'000);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 32, 32, 1000);
  EXPECT_EQ(ring.poll_for(64, 0), WaitResult::kTimeout) << "the first half may still come";
  std::jthread writer([&] { store(ring, 0, 32, 2000); });
  EXPECT_EQ(ring.poll_for(64, monotonic_ns() + 60'000'000'000), WaitResult::kReady);
  writer.join();
  ring.begin_stream(2, 0);
  EXPECT_EQ(ring.poll_for(96, 0), WaitResult::kNewStream);
}

TEST(IngestRing, TellsWhenTheNewestElementCame) {
  IngestRing ring = small_ring(256);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 32, 1000);
  store(ring, 64, 32, 3000);
  store(ring, 32, 32, 4000);
  store(ring, 128, 32, 5000);
  EXPECT_EQ(take(ring, 0, 32).result.capture_mono_ns, 1000);
  EXPECT_EQ(take(ring, 32, 64).result.capture_mono_ns, 4000);
  EXPECT_EQ(take(ring, 96, 32).result.capture_mono_ns, 5000) << "nothing came: when the stream went past it";
}

TEST(IngestRing, RefusesSizesThatMakeNoSense) {
  EXPECT_THROW(IngestRing({.words_per_element = 0, .elements = 64, .reorder_elements = 0}), ConfigError);
  EXPECT_THROW(IngestRing({.words_per_element = 1, .elements = 0, .reorder_elements = 0}), ConfigError);
  EXPECT_THROW(IngestRing({.words_per_element = 1, .elements = 64, .reorder_elements = 64}), ConfigError);
  EXPECT_EQ(IngestRing({.words_per_element = 1, .elements = 65, .reorder_elements = 64}).settings().elements, 128U);
}

/// One thread stores with gaps, reordering, duplicates, jumps and restarts into a small ring, another one takes as it
/// can: every word must be the source's or silence, silence as often as reported, and the counters must add up.
TEST(IngestRing, TwoThreadsLoseNothingUncounted) {
  IngestRing ring = small_ring(512, 40);
  std::atomic<std::uint64_t> stored{0};
  std::thread writer([&] {
    std::mt19937_64 generator(3);
    std::uint32_t id = 1;
    std::uint64_t next = 1000;
    ring.begin_stream(id, next);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t draw = generator() % 200;
      const std::size_t count = 1 + generator() % 70;
      if (draw == 0) {
        const std::uint64_t first = generator();
        if (ring.begin_stream(id + 1, first)) {
          ++id;
          next = first;
        }
      }
      std::uint64_t first = next;
      first -= draw >= 1 && draw < 40 ? generator() % 60 : 0;
      first += draw >= 40 && draw < 60 ? generator() % 60 : 0;
      first += draw == 60 ? 600 : 0;
      const auto words = source_words(first, count, kWords, id);
      const auto result = ring.store(first, std::as_bytes(std::span(words)), monotonic_ns());
      stored += result.stored + result.refused;
      next = ring.written_end();
    }
    ring.end_stream();
  });
  std::mt19937_64 generator(4);
  std::uint64_t next = 0;
  std::uint32_t id = 0;
  std::uint64_t missing = 0;
  for (bool going = true; going;) {
    const std::size_t count = 1 + generator() % 100;
    switch (ring.wait_for(next + count, kNeverNs)) {
      case WaitResult::kNewStream: {
        const StreamStart start = ring.accept_stream();
        next = start.first_element;
        id = start.stream_id;
        break;
      }
      case WaitResult::kReady: {
        std::vector<std::uint32_t> words(count * kWords);
        const TakeResult result = ring.take(next, words);
        EXPECT_EQ(count_silence(words, next, kWords, id), result.missing);
        missing += result.missing;
        next += count;
        break;
      }
      default:
        going = false;
    }
  }
  writer.join();
  const RingCounters counters = ring.counters();
  expect_conserved(counters);
  EXPECT_EQ(counters.missing, missing);
  EXPECT_EQ(counters.received, stored);
  EXPECT_GT(counters.delivered, 0U);
}

TEST(IngestRing, GivesWhatAWaitFoundWhateverBeganMeanwhile) {
  IngestRing ring = small_ring(512);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 10);
  EXPECT_EQ(ring.wait_for(10, 0), WaitResult::kReady);
  for (std::uint32_t id = 2; id < 40; ++id) {
    ring.begin_stream(id, 0);
  }
  EXPECT_EQ(take(ring, 0, 10).silent, 0U);
  EXPECT_EQ(ring.wait_for(20, 0), WaitResult::kNewStream);
  expect_conserved(ring.counters());
}

TEST(IngestRing, GivesAgainWhatWasTaken) {
  IngestRing ring = small_ring(128);
  ring.begin_stream(1, 1000);
  ring.accept_stream();
  store(ring, 1000, 40);
  store(ring, 1050, 50, 7);
  std::vector<std::uint32_t> words(100 * kWords);
  ring.take(1000, words);
  const RingCounters before = ring.counters();
  std::vector<std::uint32_t> again(60 * kWords);
  const std::optional<TakeResult> result = ring.take_again(1030, again);
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::equal(again.begin(), again.end(), words.begin() + 30 * kWords));
  EXPECT_EQ(result->missing, 10U);
  EXPECT_EQ(result->capture_mono_ns, 7);
  EXPECT_EQ(ring.counters().taken, before.taken);
  EXPECT_EQ(store(ring, 1100, 30).stored, 30U);  // goes over the two oldest of the ring's 128
  EXPECT_FALSE(ring.take_again(1001, again));
  EXPECT_TRUE(ring.take_again(1002, again));
  EXPECT_THROW(ring.take_again(999, again), Error);
  EXPECT_THROW(ring.take_again(1041, again), Error) << "the last was not taken yet";
  EXPECT_EQ(take(ring, 1100, 30).silent, 0U);
  expect_conserved(ring.counters());
}

/// A reader that comes back finds the gaps and the losses of what was passed over.
TEST(IngestRing, SaysAgainWhatWasMissingAndWhatWasLost) {
  IngestRing ring = small_ring(128);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  store(ring, 0, 40);
  store(ring, 60, 20);
  take(ring, 70, 10);  // skips what is before
  EXPECT_EQ(ring.missing_end(0), 0U);
  EXPECT_EQ(ring.missing_end(40), 60U);
  EXPECT_EQ(ring.missing_end(60), 60U);
  EXPECT_EQ(ring.overwritten(0).end, 0U);
  store(ring, 80, 128);
  store(ring, 208, 10);  // goes over untaken ones, up to 90
  take(ring, 210, 8);
  EXPECT_EQ(ring.counters().overrun, 10U);
  for (const std::uint64_t first : {70U, 80U, 85U, 90U}) {  // those before 80 were taken
    EXPECT_EQ(ring.overwritten(first).begin, std::max<std::uint64_t>(first, 80)) << first;
    EXPECT_EQ(ring.overwritten(first).end, 90U) << first;
  }
  EXPECT_EQ(ring.again_from(70), 90U);
  EXPECT_EQ(ring.again_from(100), 100U);
  expect_conserved(ring.counters());
}

/// A source that can wait does so for a reader that comes back, however little of the ring that leaves.
TEST(IngestRing, ASourceThatCanWaitLeavesWhatIsKept) {
  IngestRing ring = small_ring(128);
  ring.begin_stream(1, 0);
  ring.accept_stream();
  ring.keep_from(0);
  store(ring, 0, 90);
  take(ring, 0, 90);
  EXPECT_TRUE(ring.wait_for_room(6, 0)) << "a quarter of the ring stays";
  EXPECT_FALSE(ring.wait_for_room(7, 0));
  ring.keep_from(90);
  EXPECT_TRUE(ring.wait_for_room(7, 0));
}

/// What is given again while the writer goes on is what was stored, or nothing.
TEST(IngestRing, GivesAgainNothingThatIsBeingOverwritten) {
  IngestRing ring = small_ring(256);
  constexpr std::uint64_t kAll = 40'000;
  std::uint64_t refused = 0;
  std::thread writer([&] {
    ring.begin_stream(1, 0);
    for (std::uint64_t first = 0; first < kAll; first += 25) {
      refused += store(ring, first, 25).refused;
    }
    ring.end_stream();
  });
  ASSERT_EQ(ring.wait_for(0, kNeverNs), WaitResult::kNewStream);
  ring.accept_stream();
  std::uint64_t given = 0;
  for (std::uint64_t first = 0; first < kAll; first += 40) {
    ASSERT_EQ(ring.wait_for(first + 40, kNeverNs), WaitResult::kReady);
    const Taken taken = take(ring, first, 40);
    std::vector<std::uint32_t> again(40 * kWords);
    if (const std::optional<TakeResult> result = ring.take_again(first, again)) {
      EXPECT_EQ(count_silence(again, first, kWords), result->missing);
      EXPECT_EQ(result->missing, taken.result.missing);
      ++given;
    }
  }
  writer.join();
  EXPECT_GT(given, 0U);
  EXPECT_GE(ring.counters().overrun, refused);
  expect_conserved(ring.counters());
}

TEST(IngestRing, HoldsForAThirdThreadWhatWasTakenOfTheNewestStream) {
  IngestRing ring = small_ring(128);
  EXPECT_FALSE(ring.held());
  ring.begin_stream(1, 1000);
  ring.accept_stream();
  store(ring, 1000, 40);
  EXPECT_FALSE(ring.held()) << "nothing was taken";
  store(ring, 1050, 50, 7);
  take(ring, 1000, 90);
  const std::optional<HeldElements> held = ring.held();
  ASSERT_TRUE(held);
  EXPECT_EQ(held->stream.stream_id, 1U);
  EXPECT_EQ(held->first_element, 1000U);
  EXPECT_EQ(held->end_element, 1090U);
  const RingCounters before = ring.counters();
  std::vector<std::uint32_t> words(60 * kWords);
  std::vector<MissingRun> runs;
  const std::optional<TakeResult> result = ring.copy_held(*held, 1030, words, &runs);
  ASSERT_TRUE(result);
  EXPECT_EQ(count_silence(words, 1030, kWords), 10U);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].first_bit_time, 10U);
  EXPECT_EQ(runs[0].bit_times, 10U);
  EXPECT_EQ(ring.counters().taken, before.taken);
  EXPECT_THROW(ring.copy_held(*held, 1031, words), Error);
  EXPECT_EQ(store(ring, 1100, 30).stored, 30U);  // goes over the two oldest of the ring's 128
  EXPECT_FALSE(ring.copy_held(*held, 1001, words));
  EXPECT_EQ(ring.held_begin(*held, 1001), 1002U);
  EXPECT_TRUE(ring.copy_held(*held, 1002, words));
  ring.begin_stream(2, 50);
  EXPECT_TRUE(ring.copy_held(*held, 1030, words)) << "also when another stream has begun";
  EXPECT_FALSE(ring.held());
}

/// Copies of a third thread are what was stored, or nothing, and neither writer nor reader loses anything by them, but
/// where the third is stopped within a copy for longer than the writer waits: 20 ms, which a busy machine may do now
/// and then.
TEST(IngestRing, AThirdThreadCopiesWhileBothGoOn) {
  IngestRing ring = small_ring(1024);
  constexpr std::uint64_t kAll = 200'000;
  std::atomic<bool> is_over{false};
  std::uint64_t refused = 0;
  std::uint64_t silent = 0;
  std::thread writer([&] {
    ring.begin_stream(1, 0);
    for (std::uint64_t first = 0; first < kAll; first += 25) {
      ASSERT_TRUE(ring.wait_for_room(25, kNeverNs));
      const IngestRing::StoreResult result = store(ring, first, 25);
      EXPECT_EQ(result.stored + result.refused, 25U);
      refused += result.refused;
    }
    ring.end_stream();
  });
  std::uint64_t copied = 0;
  std::uint64_t lacking = 0;
  std::thread third([&] {
    std::vector<std::uint32_t> words(40 * kWords);
    while (!is_over) {
      const std::optional<HeldElements> held = ring.held();
      if (!held) {
        std::this_thread::yield();
        continue;
      }
      for (std::uint64_t first = held->first_element; first + 40 <= held->end_element; first += 40) {
        if (ring.copy_held(*held, first, words)) {
          lacking += count_silence(words, first, kWords);
          ++copied;
        }
      }
    }
  });
  ASSERT_EQ(ring.wait_for(0, kNeverNs), WaitResult::kNewStream);
  ring.accept_stream();
  for (std::uint64_t first = 0; first < kAll; first += 40) {
    ASSERT_EQ(ring.wait_for(first + 40, kNeverNs), WaitResult::kReady);
    silent += take(ring, first, 40).silent;
  }
  is_over = true;
  writer.join();
  third.join();
  EXPECT_GT(copied, 0U);
  EXPECT_LT(refused, kAll / 100);
  EXPECT_TRUE(refused > 0 || lacking == 0) << lacking;
  EXPECT_EQ(silent, refused);
  EXPECT_EQ(ring.counters().overrun, refused);
  EXPECT_EQ(ring.counters().delivered, kAll - refused);
  expect_conserved(ring.counters());
}

/// The writer waits for room where its source can wait: nothing is lost, whatever the reader's pace.
TEST(IngestRing, WaitingForRoomLosesNothing) {
  IngestRing ring = small_ring(128);
  constexpr std::uint64_t kAll = 20'000;
  std::thread writer([&] {
    ring.begin_stream(1, 0);
    for (std::uint64_t first = 0; first < kAll; first += 25) {
      ASSERT_TRUE(ring.wait_for_room(25, kNeverNs));
      EXPECT_EQ(store(ring, first, 25).stored, 25U);
    }
    ring.end_stream();
  });
  ASSERT_EQ(ring.wait_for(0, kNeverNs), WaitResult::kNewStream);
  ring.accept_stream();
  for (std::uint64_t first = 0; first < kAll; first += 40) {
    ASSERT_EQ(ring.wait_for(first + 40, kNeverNs), WaitResult::kReady);
    EXPECT_EQ(take(ring, first, 40).silent, 0U);
  }
  writer.join();
  EXPECT_EQ(ring.counters().delivered, kAll);
  EXPECT_EQ(ring.counters().overrun, 0U);
}

}  // namespace
}  // namespace nearfield
