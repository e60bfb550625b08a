#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/daemon_support.hpp"
#include "daemon/live/engine_input.hpp"

namespace nearfield::daemon {
namespace {

// The recorder reads behind the engine: what the engine took and the ring overwrote since was received.
TEST(BitsOutput, BitsOverwrittenBehindTheEngineAreNoLossOfTheSource) {
  IngestRing ring({.words_per_element = test::kSmallWords, .elements = 128, .reorder_elements = 0});
  const std::vector<std::uint32_t> words(100 * test::kSmallWords);
  std::vector<std::uint32_t> taken(60 * test::kSmallWords);
  const auto store = [&](std::uint64_t first, std::size_t elements) {
    ring.store(first, std::as_bytes(std::span(words).first(elements * test::kSmallWords)), 1);
  };
  ring.begin_stream(3, 0);
  BitsOutput bits(ring);
  bits.begin(ring.accept_stream(), 0);
  store(0, 100);
  ring.take(0, taken);
  store(100, 100);
  store(200, 30);  // goes over all before 102, of which 60 were taken
  ring.take(110, std::span(taken).first(20 * test::kSmallWords));
  test::KeepingTap tap;
  bits.write(&tap, 130, false);
  EXPECT_EQ(ring.counters().overrun, 42U);
  EXPECT_EQ(tap.gaps[GapCause::kOverrun], 102U);
  EXPECT_EQ(tap.gaps[GapCause::kNotSent], 0U);
  EXPECT_EQ(tap.words.size(), 28 * test::kSmallWords);
  bits.write(&tap, 120, false);  // before what is passed on already
  EXPECT_EQ(tap.next_bit_time, 130U);
}

}  // namespace
}  // namespace nearfield::daemon
