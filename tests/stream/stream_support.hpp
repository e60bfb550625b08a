#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stream/ingest_ring.hpp"
#include "stream/packets/packet.hpp"

namespace nearfield::test {

constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

/// The word that a test source delivers: different for each element, word and stream, and never silence by chance.
inline std::uint32_t source_word(std::uint64_t element, std::size_t word, std::uint32_t stream_id = 1) {
  std::uint64_t mixed =
      (element * 0x9E3779B97F4A7C15U) ^ ((word + 1) * 0xC2B2AE3D27D4EB4FU) ^ (stream_id * 0x165667B1U);
  mixed ^= mixed >> 29U;
  return (static_cast<std::uint32_t>(mixed) | 0x10000U) & ~1U;  // neither all zeros nor all ones
}

/// [element][word]
inline std::vector<std::uint32_t> source_words(std::uint64_t first, std::size_t count, std::size_t words,
                                               std::uint32_t stream_id = 1) {
  std::vector<std::uint32_t> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t word = 0; word < words; ++word) {
      values.push_back(source_word(first + i, word, stream_id));
    }
  }
  return values;
}

inline std::vector<std::byte> make_packet(std::uint32_t stream_id, std::uint64_t first, std::size_t count,
                                          std::size_t words, bool crc = true, PayloadKind kind = PayloadKind::kBits) {
  const std::vector<std::uint32_t> values = source_words(first, count, words, stream_id);
  std::vector<std::byte> bytes(kPacketHeaderBytes + values.size() * sizeof(std::uint32_t));
  const Packet packet{.stream_id = stream_id,
                      .kind = kind,
                      .first_element = first,
                      .elements = static_cast<std::uint16_t>(count),
                      .words_per_element = static_cast<std::uint16_t>(words),
                      .has_crc = crc,
                      .payload = std::as_bytes(std::span(values))};
  write_packet(packet, bytes);
  return bytes;
}

inline void expect_conserved(const RingCounters& c) {
  EXPECT_EQ(c.received, c.delivered + c.overrun + c.skipped + c.abandoned + c.pending);
  EXPECT_EQ(c.taken, c.delivered + c.missing);
}

/// Elements of `taken` ([element][word] from `first` on) that are silence; each of the others must be the source's.
inline std::uint64_t count_silence(std::span<const std::uint32_t> taken, std::uint64_t first, std::size_t words,
                                   std::uint32_t stream_id = 1, PayloadKind kind = PayloadKind::kBits) {
  std::uint64_t silent = 0;
  for (std::size_t i = 0; i < taken.size() / words; ++i) {
    const std::uint64_t element = first + i;
    const std::uint32_t silence = kind == PayloadKind::kBits && (element & 1U) != 0 ? 0xFFFFFFFFU : 0U;
    const bool is_silent = taken[i * words] == silence;
    silent += is_silent ? 1 : 0;
    for (std::size_t word = 0; word < words; ++word) {
      const std::uint32_t expected = is_silent ? silence : source_word(element, word, stream_id);
      if (taken[i * words + word] != expected) {
        ADD_FAILURE() << "element " << element << ", word " << word << ": expected " << expected << ", found "
                      << taken[i * words + word];
        return silent;
      }
    }
  }
  return silent;
}

}  // namespace nearfield::test
