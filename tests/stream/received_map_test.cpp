#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "stream/ingest_ring.hpp"

namespace nearfield {
namespace {

/// Against a plain vector, with stretches that wrap round the ring.
TEST(ReceivedMap, AgreesWithAPlainVector) {
  constexpr std::uint64_t kCapacity = 256;
  ReceivedMap map(kCapacity);
  std::vector<bool> plain(kCapacity, false);
  std::mt19937_64 generator(5);
  const auto below = [&](std::uint64_t limit) { return generator() % limit; };
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = below(10 * kCapacity);
    const std::uint64_t end = begin + below(kCapacity + 1);
    const bool value = below(2) == 0;
    value ? map.set(begin, end) : map.clear(begin, end);
    for (std::uint64_t position = begin; position < end; ++position) {
      plain[position % kCapacity] = value;
    }
    const std::uint64_t from = below(10 * kCapacity);
    const std::uint64_t to = from + 1 + below(kCapacity);
    std::uint64_t count = 0;
    std::uint64_t run_end = from;
    for (std::uint64_t position = from; position < to; ++position) {
      count += plain[position % kCapacity] ? 1U : 0U;
      run_end += run_end == position && plain[position % kCapacity] == plain[from % kCapacity] ? 1U : 0U;
    }
    ASSERT_EQ(map.count(from, to), count) << i;
    const ReceivedMap::Run run = map.run(from, to);
    ASSERT_EQ(run.end, run_end) << i;
    ASSERT_EQ(run.received, plain[from % kCapacity]) << i;
  }
}

}  // namespace
}  // namespace nearfield
