#include "control/metrics/latency_histogram.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/system/clocks.hpp"

namespace nearfield::control {
namespace {

/// Lower bound of a bucket above the first.
double lower_bound_ns(std::size_t bucket) {
  const auto part = static_cast<int>(bucket) - 1;
  const int octave = LatencyCounts::kLowestOctave + part / LatencyCounts::kPartsOfOctave;
  const double position =
      1.0 + static_cast<double>(part % LatencyCounts::kPartsOfOctave) / LatencyCounts::kPartsOfOctave;
  return std::ldexp(position, octave);
}

}  // namespace

std::size_t latency_bucket(std::int64_t duration_ns) noexcept {
  if (duration_ns < std::int64_t{1} << LatencyCounts::kLowestOctave) {
    return 0;
  }
  const auto value = static_cast<std::uint64_t>(duration_ns);
  const int octave = static_cast<int>(std::bit_width(value)) - 1;
  if (octave >= LatencyCounts::kHighestOctave) {
    return LatencyCounts::kBuckets - 1;
  }
  constexpr int kPartBits = 3;
  static_assert(1 << kPartBits == LatencyCounts::kPartsOfOctave);
  const auto part = static_cast<std::size_t>(value >> (octave - kPartBits)) - LatencyCounts::kPartsOfOctave;
  return 1 + static_cast<std::size_t>(octave - LatencyCounts::kLowestOctave) * LatencyCounts::kPartsOfOctave + part;
}

double latency_upper_bound_s(std::size_t bucket) noexcept {
  return bucket + 1 < LatencyCounts::kBuckets ? kSecondsPerNs * lower_bound_ns(bucket + 1)
                                              : std::numeric_limits<double>::infinity();
}

std::uint64_t LatencyCounts::total() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

double LatencyCounts::percentile_s(double fraction) const {
  const std::uint64_t all = total();
  if (all == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double wanted = std::ceil(fraction * static_cast<double>(all));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    seen += counts[bucket];
    if (seen > 0 && static_cast<double>(seen) >= wanted) {
      return latency_upper_bound_s(bucket);
    }
  }
  return latency_upper_bound_s(kBuckets - 2);
}

LatencyCounts LatencyCounts::since(const LatencyCounts& earlier) const {
  LatencyCounts difference;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    difference.counts[bucket] = counts[bucket] - earlier.counts[bucket];
  }
  difference.sum_ns = sum_ns - earlier.sum_ns;
  return difference;
}

void LatencyHistogram::record(std::int64_t duration_ns) noexcept {
  counts_[latency_bucket(duration_ns)].fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(duration_ns, std::memory_order_relaxed);
}

LatencyCounts LatencyHistogram::read() const noexcept {
  LatencyCounts result;
  for (std::size_t bucket = 0; bucket < LatencyCounts::kBuckets; ++bucket) {
    result.counts[bucket] = counts_[bucket].load(std::memory_order_relaxed);
  }
  result.sum_ns = sum_ns_.load(std::memory_order_relaxed);
  return result;
}

}  // namespace nearfield::control
