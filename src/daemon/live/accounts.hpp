#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "control/service/log.hpp"
#include "daemon/live/publisher.hpp"
#include "recording/recorder.hpp"
#include "stream/source.hpp"

namespace nearfield::daemon {

/// Counts of live samples by kind of number (zero, tiny, whole, not finite, ...), over some values of each piece. The
/// engine's thread counts; any thread reads.
class ValueCounts {
 public:
  /// Steps of integers: whole numbers, and full scale as a fraction of 16, 24 and 32 bits.
  static constexpr std::array<float, 4> kSteps = {1.0F, 0x1p-15F, 0x1p-23F, 0x1p-31F};
  struct Counts {
    std::uint64_t values = 0;
    std::uint64_t zero = 0;
    std::uint64_t non_finite = 0;
    std::uint64_t tiny = 0;        ///< not 0, but no sound either: typical of integers and doubles read as float32
    std::uint64_t huge = 0;        ///< likewise
    std::uint64_t beyond_one = 0;  ///< magnitudes above 1
    /// [step] values small enough for float32 to have values between two multiples of the step: multiples, and others.
    std::array<std::uint64_t, kSteps.size()> multiples{};
    std::array<std::uint64_t, kSteps.size()> others{};
  };

  explicit ValueCounts(std::size_t channels = 0) : heard_(channels), taken_(channels) {}
  /// Counts some of the words [sample][channel]. For one thread.
  void count(std::span<const std::uint32_t> words);
  [[nodiscard]] Counts counts() const;
  /// Channels that have been looked at often since the last call, and were 0 each time. One thread, which may be
  /// another than that of count().
  [[nodiscard]] std::vector<std::size_t> take_silent();

 private:
  struct Heard {
    std::uint32_t seen = 0;   ///< values of a channel
    std::uint32_t heard = 0;  ///< values that are not 0
  };
  static constexpr std::size_t kNumbers = sizeof(Counts) / sizeof(std::uint64_t);

  Counts counts_;                                              ///< used by the thread that counts
  std::array<std::atomic<std::uint64_t>, kNumbers> shared_{};  ///< copy of counts_, member by member
  std::vector<std::atomic<Heard>> heard_;                      ///< [channel]; written by the thread that counts
  std::vector<Heard> taken_;                                   ///< [channel] as take_silent() found it last
  std::size_t turn_ = 0;
};

/// Counts of `now` minus those of `before`.
[[nodiscard]] ValueCounts::Counts difference(const ValueCounts::Counts& now, const ValueCounts::Counts& before);

enum class Stage : std::size_t { kTake, kCompute, kControllers, kOthers };
enum class Queue : std::size_t { kIngest, kRecorder };

/// Names of stages, losses and queues in the metrics and the status.
control::MetricNames metric_names();

/// Copies the counts of the parts into the metrics, and logs a line if something was lost. One thread.
class Accounts {
 public:
  Accounts(std::shared_ptr<control::Metrics> metrics, std::shared_ptr<control::RateLimitedLog> log);
  void update(const SourceCounters& source, const Publisher::Counts& paused, const std::optional<RecorderStatus>& disk);

 private:
  void name_senders(const SourceCounters& source);

  std::shared_ptr<control::Metrics> metrics_;
  std::shared_ptr<control::RateLimitedLog> log_;
  std::vector<std::uint64_t> counted_;  ///< [loss]
  std::int64_t named_ns_ = 0;           ///< receipt time of the other sender at the last line that named it
};

/// Bit-times (or samples) that the engine accounted for: received + missing = expected.
struct Conservation {
  std::uint64_t received = 0;
  std::uint64_t missing = 0;
  std::uint64_t expected = 0;
};
Conservation conservation(const RingCounters& ring);

}  // namespace nearfield::daemon
