#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "control/metrics/latency_histogram.hpp"
#include "daemon/live/live_engine.hpp"
#include "stream/source.hpp"

namespace nearfield::daemon {

/// Statistics of a run, for tests and long runs. The engine's thread calls add(); json() is called after that thread
/// has ended.
class Summary {
 public:
  void add(const FrameReport& report);
  [[nodiscard]] nlohmann::json json(const SourceCounters& source, double hop_rate_hz) const;
  [[nodiscard]] std::uint64_t frames() const { return frames_; }

 private:
  control::LatencyHistogram intervals_;
  control::LatencyHistogram ages_;
  std::uint64_t frames_ = 0;
  std::uint64_t flagged_ = 0;  ///< frames whose window has missing bit-times
  std::uint64_t shed_hops_ = 0;
  std::uint64_t absent_hops_ = 0;
  std::uint64_t first_sequence_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t longest_interval_ns_ = 0;
  std::int64_t oldest_ns_ = 0;
};

}  // namespace nearfield::daemon
