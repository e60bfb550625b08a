#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/live/accounts.hpp"
#include "daemon/live/live_input.hpp"
#include "daemon/live/rates.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Compares a live stream with its announced rate, unit and kind of values, which a pipe or UDP does not state. An
/// implausible one is doubted: in the log, in the status, and by a flag in each frame.
class InputWatch {
 public:
  InputWatch(const Settings& settings, const LiveInput& input);

  /// Counts values; for the engine's thread.
  void count(std::span<const std::uint32_t> words) { values_.count(words); }
  /// True while something is in doubt; any thread.
  [[nodiscard]] bool doubts() const noexcept { return doubts_.load(std::memory_order_relaxed); }

  /// One line with the input's rate, and its channels if known.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Judges the newest element and the values so far. Returns a line for each doubt that has begun or ended since the
  /// last call. One thread.
  struct Line {
    bool is_doubt = true;
    std::string text;
  };
  std::vector<Line> look(const std::optional<NewestElement>& newest, std::int64_t now_ns);
  /// Status as docs/reference/control.md describes it; any thread.
  [[nodiscard]] nlohmann::json status() const;

 private:
  enum class Doubt { kRate, kNumbers, kSilence, kUnit };
  static constexpr std::size_t kDoubts = 4;
  void judge(Doubt doubt, std::optional<std::string> found, std::vector<Line>& lines);
  [[nodiscard]] std::string text_of_silent(const std::vector<std::size_t>& silent) const;
  [[nodiscard]] std::optional<std::string> doubt_of_rate() const;
  [[nodiscard]] static std::string doubt_of_numbers(const ValueCounts::Counts& counts);
  [[nodiscard]] static std::optional<std::string> doubt_of_unit(const ValueCounts::Counts& counts);

  LiveInput input_;
  int channels_ = 0;
  bool is_unit_given_ = false;
  bool is_pipe_ = false;
  bool has_rate_ = false;  ///< the sender keeps time, as far as this host knows
  std::string text_;
  std::vector<int> channels_of_input_;  ///< [microphone] array.channels; empty: the same numbers
  ValueCounts values_;
  RateMeter rate_;
  ValueCounts::Counts judged_;  ///< counts when values were last judged
  std::int64_t judged_ns_ = 0;
  std::atomic<bool> doubts_{false};

  /// Guards what status() reads, between the main thread and that of control, neither of which is real-time.
  mutable std::mutex mutex_;
  std::array<std::string, kDoubts> in_doubt_;  ///< [Doubt], empty if there is none
  std::optional<double> measured_hz_;          ///< measured rate of elements
  std::optional<double> long_term_hz_;
};

}  // namespace nearfield::daemon
