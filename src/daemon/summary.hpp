#pragma once
#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

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

/// Events of the stream for the log: the engine's thread adds them without a lock, and one other thread takes them.
/// Hops are summed from one take() to the next; if several streams begin in between, the last one counts.
class StreamNews {
 public:
  struct News {
    std::optional<StreamStart> start;
    std::uint64_t absent_hops = 0;
    std::uint64_t shed_hops = 0;
    std::uint64_t sequence = 0;  ///< sequence of the newest frame that follows hops without a frame
  };

  void add(const FrameReport& report) noexcept {
    if (report.shed_hops > 0) {
      sequence_.store(report.sequence, std::memory_order_relaxed);
      absent_.fetch_add(report.absent_hops, std::memory_order_relaxed);
      shed_.fetch_add(report.shed_hops - report.absent_hops, std::memory_order_release);
    }
  }
  void add(const StreamStart& start) noexcept {
    stream_id_.store(start.stream_id, std::memory_order_relaxed);
    first_element_.store(start.first_element, std::memory_order_relaxed);
    number_.store(start.number, std::memory_order_release);
  }
  News take() noexcept {
    News news;
    news.shed_hops = shed_.exchange(0, std::memory_order_acquire);
    news.absent_hops = absent_.exchange(0, std::memory_order_relaxed);
    news.sequence = sequence_.load(std::memory_order_relaxed);
    if (const std::uint64_t number = number_.load(std::memory_order_acquire); number != taken_) {
      taken_ = number;
      news.start = StreamStart{.stream_id = stream_id_.load(std::memory_order_relaxed),
                               .first_element = first_element_.load(std::memory_order_relaxed),
                               .number = number};
    }
    return news;
  }

 private:
  std::atomic<std::uint64_t> absent_{0};
  std::atomic<std::uint64_t> shed_{0};
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::uint32_t> stream_id_{0};
  std::atomic<std::uint64_t> first_element_{0};
  std::atomic<std::uint64_t> number_{0};
  std::uint64_t taken_ = 0;  ///< number of the stream that take() returned last
};

}  // namespace nearfield::daemon
