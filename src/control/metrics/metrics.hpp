#pragma once
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/metrics/latency_histogram.hpp"
#include "core/recording_state.hpp"

namespace nearfield::control {

/// Names of a daemon's stages, causes of loss and queues; their order is their index.
struct MetricNames {
  std::vector<std::string> stages;
  std::vector<std::string> losses;
  std::vector<std::string> queues;
};

/// Names of the parts of a recording's bit-times; they add up to its span.
inline constexpr std::array<const char*, 5> kRecordedBits = {"stored", "never_sent", "paused", "overrun", "dropped"};
using RecordedBits = std::array<std::uint64_t, kRecordedBits.size()>;

/// The current configuration in words; set when it takes effect.
struct RunInfo {
  std::string version;
  std::string commit;
  std::string device;
  std::vector<std::pair<std::string, std::string>> devices;  ///< [processor], its name and its device
  std::string front_end;
  std::string source;
  std::uint64_t epoch = 0;
  double hop_rate_hz = 0.0;  ///< frames per second that the configuration sets
};

/// {"median", "p99", "p999", "max"} in ms; null where nothing was counted, or too much of it lies in the last bucket.
nlohmann::json percentiles_ms(const LatencyCounts& counts);

/// All counts and measurements of a daemon. Functions that the stream's threads call are noexcept: relaxed atomics, no
/// lock, no allocation. A scrape and a status convert the counts when they are requested. The mutex guards the texts
/// and the recent past.
class Metrics : public prometheus::Collectable {
 public:
  using Label = prometheus::ClientMetric::Label;

  Metrics(const MetricNames& names, std::int64_t now_ns);

  /// Called by one thread after a frame was published; times of CLOCK_MONOTONIC, `captured_ns` for its last bit's
  /// arrival in memory.
  void frame_published(std::int64_t published_ns, std::int64_t captured_ns) noexcept;
  void stage_took(std::size_t stage, std::int64_t duration_ns) noexcept { stages_[stage].record(duration_ns); }
  void lose(std::size_t cause, std::uint64_t count) noexcept { add(losses_[cause], count); }
  void set_queue_depth(std::size_t queue, std::uint64_t depth) noexcept { set(queues_[queue], depth); }
  void shed_hops(std::uint64_t hops) noexcept { add(shed_hops_, hops); }
  /// Bit-times counted by a source since the start: received + missing = expected.
  void set_bit_times(std::uint64_t received, std::uint64_t missing, std::uint64_t expected) noexcept;
  void set_no_input(bool none) noexcept { set(no_input_, none ? 1 : 0); }
  void set_recording(RecordingState state, std::uint64_t bytes) noexcept;
  /// In the order of kRecordedBits. A scrape and a status see all of them from the same call.
  void set_recording_bits(const RecordedBits& bit_times);

  void set_run(const RunInfo& info);
  /// Sets the name of a recording's file, or the reason of its end.
  void set_recording_text(const std::string& text);
  /// Updates the recent past: rates and the status's percentiles cover the last ten to twenty seconds. Call about once
  /// a second.
  void tick(std::int64_t now_ns);

  /// Adds a number that is kept elsewhere and read at each scrape by another thread. Before the server starts. `name`
  /// without "nearfield_"; names that end in _total are counters. Consecutive readers of one name are distinguished by
  /// their label.
  void add_reader(const std::string& name, const std::string& help, std::function<double()> read,
                  const std::optional<Label>& label = std::nullopt);

  /// Values of a metric, each with the value of its label.
  using Labelled = std::vector<std::pair<std::string, double>>;
  /// Adds a metric with any number of values that are kept elsewhere, distinguished by the label `label`. Otherwise
  /// like add_reader().
  void add_readers(const std::string& name, const std::string& help, const std::string& label,
                   std::function<Labelled()> read);

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect()
      const override;  // NOLINT(readability-identifier-naming)
  /// Data of `nearfield ctl status`; docs/reference/control.md lists the keys.
  [[nodiscard]] nlohmann::json status() const;

 private:
  using Count = std::atomic<std::uint64_t>;
  struct Moment {
    std::int64_t ns = 0;
    std::uint64_t frames = 0;
    LatencyCounts intervals;
    LatencyCounts ages;
    std::vector<LatencyCounts> stages;
  };
  struct Reader {
    std::string name;
    std::string help;
    std::function<double()> read;
    std::vector<Label> labels;
  };

  struct Readers {
    std::string name;
    std::string help;
    std::string label;
    std::function<Labelled()> read;
  };

  static void add(Count& count, std::uint64_t more) noexcept { count.fetch_add(more, std::memory_order_relaxed); }
  static void set(Count& count, std::uint64_t value) noexcept { count.store(value, std::memory_order_relaxed); }
  static std::uint64_t get(const Count& count) noexcept { return count.load(std::memory_order_relaxed); }
  [[nodiscard]] Moment moment(std::int64_t now_ns) const;
  void collect_stream(std::vector<prometheus::MetricFamily>& families) const;
  void collect_losses(std::vector<prometheus::MetricFamily>& families) const;
  void collect_run(std::vector<prometheus::MetricFamily>& families) const;

  MetricNames names_;
  std::int64_t started_ns_;
  Count frames_{0};
  std::atomic<std::int64_t> last_published_ns_{0};
  LatencyHistogram intervals_;
  LatencyHistogram ages_;
  std::deque<LatencyHistogram> stages_;
  std::deque<Count> losses_;
  std::deque<Count> queues_;
  Count shed_hops_{0};
  Count received_{0};
  Count missing_{0};
  Count expected_{0};
  Count no_input_{0};
  Count recording_bytes_{0};
  std::atomic<RecordingState> recording_{RecordingState::kIdle};

  mutable std::mutex mutex_;
  RunInfo run_;
  std::string recording_text_;
  RecordedBits recording_bits_{};
  std::vector<Reader> readers_;
  std::vector<Readers> labelled_;
  Moment older_;
  Moment newer_;
  double frame_rate_hz_ = 0.0;
  double uptime_s_ = 0.0;
};

/// State of the system's clock for `nearfield ctl status`: `synchronised`, `most_error_s`, `likely_error_s`,
/// `tai_offset_s`, all null if the kernel refuses to report it; `text` then has the reason (else it is empty).
nlohmann::json clock_status();

/// Adds this state as metrics: clock_synchronised, clock_most_error_seconds, clock_likely_error_seconds and
/// clock_tai_offset_seconds, which are NaN if the kernel refuses. Before the server starts.
void add_clock_metrics(Metrics& metrics);

}  // namespace nearfield::control
