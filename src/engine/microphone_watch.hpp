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

/// Whether the settings have the microphones watched; those of arrays with fewer than 6 a side never are.
bool are_watched(const ArraySettings& array);

/// The plan of a monitor for an engine's microphones; nothing where the settings disable it, or where the array
/// has fewer than 6 microphones a side, too few neighbours to compare with.
std::optional<health::MonitorPlan> monitor_plan(const Engine& engine, const Settings& settings);

/// From one window that a monitor gets to the next, in samples: windows do not overlap, and are 32 a second at most.
std::uint64_t watch_interval_samples(const Settings& settings, double sample_rate_hz);

/// Watches the microphones of a recording or of pushed input.
class MicrophoneWatch {
 public:
  MicrophoneWatch(const Engine& engine, const EnginePlan& plan);
  /// Whether it wants the spectra of a whole window that begins there.
  [[nodiscard]] bool is_due(std::uint64_t first_sample) const { return monitor_ && first_sample >= next_; }
  /// From which sample on it wants one, where it watches.
  [[nodiscard]] std::uint64_t due_sample() const { return next_; }
  /// From one window that it wants to the next; 0 where it watches nothing.
  [[nodiscard]] std::uint64_t interval_samples() const { return monitor_ ? interval_ : 0; }
  /// Whether the settings want those masked that it finds.
  [[nodiscard]] bool masks() const { return monitor_ && mask_ != HealthMask::kNone; }
  /// Reports what it finds, and masks nothing, as another says what is masked.
  void report_only() { mask_ = HealthMask::kNone; }
  /// A mask that is to change behind all windows that are less than an interval behind the one it was found in.
  struct Found {
    std::uint64_t from_sample = 0;  ///< for windows that begin there or later
    std::vector<int> channels;      ///< ascending
  };
  /// Spectra [frequency][row][column] of a whole window for which is_due() holds, as Engine::read_spectra() has them.
  std::optional<Found> add(std::uint64_t first_sample, std::span<const std::complex<float>> spectra);
  /// What was found, one line a microphone; empty when nothing was.
  [[nodiscard]] std::vector<std::string> findings() const;

 private:
  ArrayGeometry geometry_;
  HealthMask mask_ = HealthMask::kNone;
  std::unique_ptr<health::Monitor> monitor_;  ///< null: not watched
  std::uint64_t interval_ = 1;
  std::uint64_t next_ = 0;
  std::vector<int> masked_;                 ///< since the last change
  std::map<int, health::Condition> found_;  ///< first causes, also of those that have recovered
};

/// "microphone 100 (row 3, column 4): noisy".
std::string text_of(const health::Change& change, const ArrayGeometry& geometry);

/// `bad`, or none where they are too many to be masked (most_maskable()).
std::vector<int> maskable(std::vector<int> bad, const ArrayGeometry& geometry);

}  // namespace nearfield
