#pragma once
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "health/monitor.hpp"

namespace nearfield {

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
