#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nearfield::control {

/// Counts of durations in buckets of fixed bounds: each octave from 1.024 us to 68.7 s is cut into eight equal parts,
/// so a bucket is at most an eighth of its lower bound wide. Shorter durations fall into the first bucket, longer ones
/// into the last.
struct LatencyCounts {
  static constexpr int kPartsOfOctave = 8;
  static constexpr int kLowestOctave = 10;   ///< 2^10 ns
  static constexpr int kHighestOctave = 36;  ///< 2^36 ns, begin of the last bucket
  static constexpr std::size_t kBuckets = std::size_t{kHighestOctave - kLowestOctave} * kPartsOfOctave + 2;

  std::array<std::uint64_t, kBuckets> counts{};
  std::int64_t sum_ns = 0;

  [[nodiscard]] std::uint64_t total() const;
  /// Duration that `fraction` (0 to 1) of all do not exceed: the upper bound of its bucket, in seconds; for the last
  /// bucket its lower bound. NaN if nothing was counted.
  [[nodiscard]] double percentile_s(double fraction) const;
  /// Counts added since `earlier`, an older state of the same counts.
  [[nodiscard]] LatencyCounts since(const LatencyCounts& earlier) const;
};

/// Index of the bucket of a duration.
std::size_t latency_bucket(std::int64_t duration_ns) noexcept;
/// Durations of a bucket lie below this; infinite for the last.
double latency_upper_bound_s(std::size_t bucket) noexcept;

/// Histogram of durations from the stream's threads: any thread may record, none ever waits.
class LatencyHistogram {
 public:
  void record(std::int64_t duration_ns) noexcept;
  [[nodiscard]] LatencyCounts read() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, LatencyCounts::kBuckets> counts_{};
  std::atomic<std::int64_t> sum_ns_{0};
};

}  // namespace nearfield::control
