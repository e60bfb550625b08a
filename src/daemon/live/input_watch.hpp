#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/live/live_input.hpp"
#include "daemon/live/rate_meter.hpp"
#include "daemon/live/value_counts.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Compares what comes with what the settings announce: rate, unit and kind of the values of a live stream, of which a
/// pipe or UDP says nothing. What cannot be is doubted: a line in the log, in the status, and a flag in each frame.
class InputWatch {
 public:
  InputWatch(const Settings& settings, const LiveInput& input);

  /// Counts values; the engine's thread.
  void count(std::span<const std::uint32_t> words) { values_.count(words); }
  /// True while something is in doubt; any thread.
  [[nodiscard]] bool doubts() const noexcept { return doubts_.load(std::memory_order_relaxed); }

  /// The input's rate, and channels where they are known, in a line.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Judges the newest element and the values so far. Returns a line for each doubt that has begun or ended since the
  /// last call. One thread.
  struct Line {
    bool is_doubt = true;
    std::string text;
  };
  std::vector<Line> look(const std::optional<NewestElement>& newest, std::int64_t now_ns);
  /// As docs/control.md describes it; any thread.
  [[nodiscard]] nlohmann::json status() const;

 private:
  enum class Doubt { kRate, kNumbers, kSilence, kUnit };
  static constexpr std::size_t kDoubts = 4;
  void judge(Doubt doubt, std::optional<std::string> found, std::vector<Line>& lines);
  [[nodiscard]] std::optional<std::string> doubt_of_rate() const;
  [[nodiscard]] static std::string doubt_of_numbers(const ValueCounts::Counts& counts);
  [[nodiscard]] static std::optional<std::string> doubt_of_unit(const ValueCounts::Counts& counts);

  LiveInput input_;
  int channels_ = 0;
  bool is_unit_given_ = false;
  bool is_pipe_ = false;
  bool has_rate_ = false;  ///< the sender keeps time, as far as is known here
  std::string text_;
  RateMeter rate_;
  ValueCounts values_;
  ValueCounts::Counts judged_;  ///< those that were there when values were judged last
  std::int64_t judged_ns_ = 0;
  std::atomic<bool> doubts_{false};

  mutable std::mutex mutex_;                   ///< guards what status() reads
  std::array<std::string, kDoubts> in_doubt_;  ///< [Doubt], empty where there is none
  std::optional<double> measured_hz_;          ///< of elements
};

}  // namespace nearfield::daemon
