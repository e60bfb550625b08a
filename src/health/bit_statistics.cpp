#include "health/bit_statistics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace nearfield::health {
namespace {

/// Number of words processed together, so that the compiler vectorises.
constexpr std::size_t kTile = 8;
using Tile = std::array<std::uint32_t, kTile>;

constexpr std::size_t kShortPlanes = 4;  // counts up to 15, then flushed to the long ones
constexpr std::size_t kShortBits = 15;
constexpr std::size_t kCountPlanes = 13;  // up to 4096
constexpr std::size_t kRunPlanes = 8;     // up to 255, where it saturates

/// Counts up to 15 bits per lane, then adds them to the long counter.
class Count {
 public:
  void add(const Tile& bits) {
    for (std::size_t w = 0; w < kTile; ++w) {
      std::uint32_t carry = bits[w];
      for (Tile& plane : short_) {
        const std::uint32_t both = plane[w] & carry;
        plane[w] ^= carry;
        carry = both;
      }
    }
  }
  void flush() {
    for (std::size_t w = 0; w < kTile; ++w) {
      std::uint32_t carry = 0;
      for (std::size_t p = 0; p < kCountPlanes; ++p) {
        const std::uint32_t more = p < kShortPlanes ? short_[p][w] : 0;
        const std::uint32_t here = long_[p][w];
        long_[p][w] = here ^ more ^ carry;
        carry = (here & more) | (carry & (here ^ more));
      }
    }
    short_ = {};
  }
  [[nodiscard]] std::uint16_t of(std::size_t word, std::size_t lane) const {
    unsigned value = 0;
    for (std::size_t p = 0; p < kCountPlanes; ++p) {
      value |= (long_[p][word] >> lane & 1U) << p;
    }
    return static_cast<std::uint16_t>(value);
  }

 private:
  std::array<Tile, kShortPlanes> short_{};
  std::array<Tile, kCountPlanes> long_{};
};

/// Counts consecutive bits that equal their predecessor; saturates. `reached` has the planes that were ever set.
class Run {
 public:
  void add(const Tile& equal) {
    for (std::size_t w = 0; w < kTile; ++w) {
      std::uint32_t carry = equal[w];
      for (std::size_t p = 0; p < kRunPlanes; ++p) {
        const std::uint32_t both = now_[p][w] & carry;
        now_[p][w] = (now_[p][w] ^ carry) & equal[w];
        carry = both;
      }
      for (std::size_t p = 0; p < kRunPlanes; ++p) {
        now_[p][w] |= carry;
        reached_[p][w] |= now_[p][w];
      }
      full_[w] |= carry;
    }
  }
  [[nodiscard]] std::uint16_t of(std::size_t word, std::size_t lane) const {
    if ((full_[word] >> lane & 1U) != 0) {
      return 1U << kRunPlanes;
    }
    for (std::size_t p = kRunPlanes; p-- > 0;) {
      if ((reached_[p][word] >> lane & 1U) != 0) {
        return static_cast<std::uint16_t>(1U << p);
      }
    }
    return 0;
  }

 private:
  std::array<Tile, kRunPlanes> now_{};
  std::array<Tile, kRunPlanes> reached_{};
  Tile full_{};
};

struct TileCounts {
  Count ones;
  Count toggles;
  Run equal;
};

/// Counts `used` words of each bit-time from `first` on; lanes of the others stay 0.
void count_tile(std::span<const std::uint32_t> wire, std::size_t stride, std::size_t bit_times, std::size_t used,
                TileCounts& counts) {
  Tile before{};
  for (std::size_t t = 0; t < bit_times; ++t) {
    Tile bits{};
    std::copy_n(wire.begin() + static_cast<std::ptrdiff_t>(t * stride), used, bits.begin());
    counts.ones.add(bits);
    if (t > 0) {
      Tile differ;
      Tile equal;
      for (std::size_t w = 0; w < kTile; ++w) {
        differ[w] = bits[w] ^ before[w];
        equal[w] = ~differ[w];
      }
      counts.toggles.add(differ);
      counts.equal.add(equal);
    }
    before = bits;
    if (t % kShortBits == kShortBits - 1) {
      counts.ones.flush();
      counts.toggles.flush();
    }
  }
  counts.ones.flush();
  counts.toggles.flush();
}

}  // namespace

BitCounter::BitCounter(WireLayout layout, const ArrayGeometry& geometry)
    : words_(static_cast<std::size_t>(nearfield::words_per_bit_time(layout, geometry))),
      channels_(channel_of_wire_bit(layout, geometry)),
      channel_count_(static_cast<std::size_t>(geometry.channels())) {}

void BitCounter::count(std::span<const std::uint32_t> wire, BitStatistics& out) const {
  const std::size_t bit_times = std::min<std::size_t>(wire.size() / words_, kMostBlockBits);
  out.bit_times = static_cast<std::uint32_t>(bit_times);
  out.ones.assign(channel_count_, 0);
  out.toggles.assign(channel_count_, 0);
  out.longest_run.assign(channel_count_, 0);
  for (std::size_t first = 0; first < words_; first += kTile) {
    const std::size_t used = std::min(kTile, words_ - first);
    TileCounts counts;
    count_tile(wire.subspan(first), words_, bit_times, used, counts);
    for (std::size_t w = 0; w < used; ++w) {
      for (std::size_t lane = 0; lane < kBitsPerWord; ++lane) {
        const int channel = channels_[(first + w) * kBitsPerWord + lane];
        if (channel == kSpareBit) {
          continue;
        }
        const auto at = static_cast<std::size_t>(channel);
        out.ones[at] = counts.ones.of(w, lane);
        out.toggles[at] = counts.toggles.of(w, lane);
        out.longest_run[at] = counts.equal.of(w, lane);
      }
    }
  }
}

}  // namespace nearfield::health
