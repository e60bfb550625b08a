#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "control/metrics/metrics.hpp"
#include "control/service/log.hpp"
#include "daemon/live/publisher.hpp"
#include "recording/recorder.hpp"
#include "stream/source.hpp"

namespace nearfield::daemon {

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
