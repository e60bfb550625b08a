#include "engine/stream_clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace nearfield {
namespace {

/// A clock of random sizes whose stream begins anywhere, and the least position that it was given.
struct Draw {
  StreamClock clock;
  std::uint64_t first_element = 0;
  std::uint64_t least = 0;
};

Draw draw_of(std::mt19937_64& random) {
  FrontEndSettings settings;
  settings.window_samples = static_cast<int>(1 + random() % 4096);
  settings.hop_samples = static_cast<int>(1 + random() % 512);
  const std::uint64_t per_sample = random() % 2 == 0 ? 32 : 1;
  Draw draw{.clock = StreamClock(settings, per_sample), .first_element = random() >> (1U + random() % 60U), .least = 0};
  draw.least = random() % 2 == 0 ? 0 : random() >> (4U + random() % 50U);
  draw.clock.begin(draw.first_element, draw.least);
  return draw;
}

constexpr int kDraws = 20000;

// The first whole sample is the first that begins at a multiple of its elements, and no position decreases.
TEST(StreamClock, BeginsAtTheFirstWholeSample) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_of(random);
    const StreamClock& clock = draw.clock;
    const std::uint64_t element = clock.element_of(clock.origin());
    EXPECT_EQ(element % clock.elements_per_sample(), 0U);
    EXPECT_LT(element - draw.first_element, clock.elements_per_sample());
    EXPECT_GE(clock.origin(), draw.least);
    const bool has_own = clock.origin() == element / clock.elements_per_sample();
    EXPECT_TRUE(has_own || clock.origin() == draw.least);
  }
}

// Windows begin where a replay of the source's elements has them: at multiples of the hop, each a hop after the last.
TEST(StreamClock, WindowsBeginAtHops) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_of(random);
    const StreamClock& clock = draw.clock;
    const std::uint64_t sample = clock.origin() + random() % 100'000;
    const std::uint64_t first = clock.at_hop(sample);
    EXPECT_GE(first, sample);
    EXPECT_LT(first - sample, clock.hop_samples());
    EXPECT_EQ(clock.element_of(first) % clock.elements(clock.hop_samples()), 0U);
    EXPECT_EQ(clock.at_hop(first), first);
    const std::uint64_t hops = random() % 1000;
    EXPECT_EQ(clock.hop_of(clock.later(first, hops)), clock.hop_of(first) + hops);
    EXPECT_EQ(clock.at_hop(first + 1), clock.later(first, 1));
  }
}

TEST(StreamClock, CountsHopsAndEnds) {
  std::mt19937_64 random(3);
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_of(random);
    const StreamClock& clock = draw.clock;
    const std::uint64_t first = clock.at_hop(clock.origin());
    const std::uint64_t windows = 1 + random() % 64;
    EXPECT_EQ(clock.end_of(first, windows), clock.end_of(clock.later(first, windows - 1)));
    EXPECT_EQ(clock.end_of(first) - first, clock.window_samples());
    const std::uint64_t sample = first + random() % 10'000;
    const std::uint64_t hops = clock.hops_to(first, sample);
    EXPECT_GE(clock.later(first, hops), sample);
    EXPECT_TRUE(hops == 0 || clock.later(first, hops - 1) < sample);
    EXPECT_EQ(clock.hops_to(sample, first), 0U);
  }
}

// Another epoch's windows are other windows of the same stream.
TEST(StreamClock, KeepsTheStreamWhereWindowsChange) {
  std::mt19937_64 random(4);
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_of(random);
    StreamClock other = draw.clock;
    FrontEndSettings settings;
    settings.window_samples = 77;
    settings.hop_samples = 11;
    other.use(settings);
    const std::uint64_t sample = draw.clock.origin() + random() % 10'000;
    EXPECT_EQ(other.element_of(sample), draw.clock.element_of(sample));
    EXPECT_EQ(other.element_of(other.at_hop(sample)) % other.elements(11), 0U);
  }
}

}  // namespace
}  // namespace nearfield
