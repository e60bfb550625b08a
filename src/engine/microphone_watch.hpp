#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "health/monitor.hpp"

namespace nearfield {

/// Schedule of masked microphones besides those of the settings: none before the first change.
class MaskSchedule {
 public:
  /// Masks `channels` for the windows that begin at this sample or later.
  void add(std::uint64_t first_sample, std::vector<int> channels) {
    changes_.insert_or_assign(first_sample, std::move(channels));
  }
  /// Drops changes that no window from this sample on needs.
  void forget_before(std::uint64_t first_sample);
  /// Mask for a window that begins at this sample.
  [[nodiscard]] const std::vector<int>& at(std::uint64_t first_sample) const;
  /// Number of the `windows` windows, `hop_samples` apart and the first at `first_sample`, that share its mask.
  [[nodiscard]] std::size_t together(std::uint64_t first_sample, std::size_t windows, std::uint64_t hop_samples) const;

 private:
  std::map<std::uint64_t, std::vector<int>> changes_;
};

/// Applies a mask schedule to an engine.
class ScheduledMask {
 public:
  explicit ScheduledMask(Engine& engine) : engine_(&engine) {}
  /// Call it before a window is computed. Waits for the device where the mask changes.
  void use(const MaskSchedule& schedule, std::uint64_t first_sample);
  /// True if use() has nothing to do.
  [[nodiscard]] bool is_in_effect(const MaskSchedule& schedule, std::uint64_t first_sample) const {
    return in_effect_ == schedule.at(first_sample);
  }
  /// Makes the next use() set the mask unconditionally.
  void forget() { in_effect_.reset(); }

 private:
  Engine* engine_;
  /// Masked channels, ascending; empty for those of the settings alone, as an engine begins. No value: unknown.
  std::optional<std::vector<int>> in_effect_ = std::vector<int>();
};

/// True if the settings have the microphones watched; arrays with fewer than 6 a side never are.
bool are_watched(const ArraySettings& array);

/// The plan of a monitor for an engine's microphones; nothing where the settings disable it, or where the array
/// has fewer than 6 microphones a side, too few neighbours to compare with.
std::optional<health::MonitorPlan> monitor_plan(const Engine& engine, const Settings& settings);

/// Interval in samples between windows that a monitor gets: they do not overlap, and are 32 a second at most.
std::uint64_t watch_interval_samples(const Settings& settings, double sample_rate_hz);

/// Watches the microphones of a recording or of pushed input.
class MicrophoneWatch {
 public:
  MicrophoneWatch(const Engine& engine, const EnginePlan& plan);
  /// True if it needs the spectra of a whole window that begins there.
  [[nodiscard]] bool is_due(std::uint64_t first_sample) const { return monitor_ && first_sample >= next_; }
  /// First sample of the next window that it needs; valid only where it watches.
  [[nodiscard]] std::uint64_t due_sample() const { return next_; }
  /// Interval in samples between windows that it needs; 0 where it watches nothing.
  [[nodiscard]] std::uint64_t interval_samples() const { return monitor_ ? interval_ : 0; }
  /// True if the settings ask for bad microphones to be masked.
  [[nodiscard]] bool masks() const { return monitor_ && mask_ != HealthMask::kNone; }
  /// Disables masking, because another component decides the mask; findings are still reported.
  void report_only() { mask_ = HealthMask::kNone; }
  /// Change of the mask. It takes effect for windows that begin at least an interval after the one it was found in.
  struct Found {
    std::uint64_t from_sample = 0;  ///< first sample of the first window with it
    std::vector<int> channels;      ///< ascending
  };
  /// Spectra [frequency][row][column] of a whole window for which is_due() is true, as from Engine::read_spectra().
  std::optional<Found> add(std::uint64_t first_sample, std::span<const std::complex<float>> spectra);
  /// Findings so far, one line per microphone; empty when there are none.
  [[nodiscard]] std::vector<std::string> findings() const;

 private:
  ArrayGeometry geometry_;
  HealthMask mask_ = HealthMask::kNone;
  std::unique_ptr<health::Monitor> monitor_;  ///< null: not watched
  std::uint64_t interval_ = 1;
  std::uint64_t next_ = 0;
  std::vector<int> masked_;                 ///< channels, since the last change
  std::map<int, health::Condition> found_;  ///< first cause of each channel, also of those that have recovered
};

/// "microphone 100 (row 3, column 4): noisy".
std::string text_of(const health::Change& change, const ArrayGeometry& geometry);

/// `bad`, or empty where there are too many to be masked (most_maskable()).
std::vector<int> maskable(std::vector<int> bad, const ArrayGeometry& geometry);

}  // namespace nearfield
