#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/microphones.hpp"

namespace nearfield::health {

/// Statistics of a block of raw bits for each microphone, [channel].
struct BitStatistics {
  std::uint32_t bit_times = 0;
  std::vector<std::uint16_t> ones;     ///< bits that are 1
  std::vector<std::uint16_t> toggles;  ///< bits that differ from the previous one, except the first
  /// Consecutive bits equal to their predecessor, as the largest power of two not above their number, at most 256; 0:
  /// none.
  std::vector<std::uint16_t> longest_run;
};

/// Longest block that can be counted; its counters fit into 16 bits.
inline constexpr std::uint32_t kMostBlockBits = 4096;

/// Counts all microphones of a word in parallel: plane p of a counter holds bit p of 32 counts.
class BitCounter {
 public:
  /// Throws ConfigError when the layout does not fit the geometry.
  BitCounter(WireLayout layout, const ArrayGeometry& geometry);
  [[nodiscard]] std::size_t words_per_bit_time() const { return words_; }
  /// wire [bit-time][word], at most kMostBlockBits bit-times; any beyond are ignored.
  void count(std::span<const std::uint32_t> wire, BitStatistics& out) const;

 private:
  std::size_t words_;
  std::vector<int> channels_;  ///< [word * 32 + bit]
  std::size_t channel_count_;
};

}  // namespace nearfield::health
