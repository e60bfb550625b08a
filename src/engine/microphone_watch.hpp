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

/// The plan of a monitor for an engine's microphones; nothing where the settings disable it, or where the array
/// has fewer than 6 microphones a side, too few neighbours to compare with.
std::optional<health::MonitorPlan> monitor_plan(const Engine& engine, const Settings& settings);

/// From one window that a monitor gets to the next, in samples: windows do not overlap, and are 32 a second at most.
std::uint64_t watch_interval_samples(const Settings& settings, double sample_rate_hz);

/// Watches the microphones of a recording or of pushed input, on the thread that computes the frames, or that writes
/// them where masks do not change.
class MicrophoneWatch {
 public:
  MicrophoneWatch(Engine& engine, const EnginePlan& plan);
  /// Whether it wants the spectra of a whole window that begins there.
  [[nodiscard]] bool is_due(std::uint64_t first_sample) const { return monitor_ && first_sample >= next_; }
  /// From one window that it wants to the next; 0 where it watches nothing.
  [[nodiscard]] std::uint64_t interval_samples() const { return monitor_ ? interval_ : 0; }
  /// Whether what it finds changes the engine's masks.
  [[nodiscard]] bool masks() const { return monitor_ && masks_; }
  /// Spectra [frequency][row][column] of a window for which is_due() holds, as Engine::read_spectra() has them. True
  /// when a mask has changed, from the next batch on.
  bool add(std::uint64_t first_sample, std::span<const std::complex<float>> spectra);
  /// After each window of a batch, the first of which begins at `first_sample`: `window` counts from there. True when a
  /// mask has changed, from the next batch on.
  bool look(std::uint64_t first_sample, std::size_t window);
  /// What was found, one line a microphone; empty when nothing was.
  [[nodiscard]] std::vector<std::string> findings() const;

 private:
  Engine* engine_;
  ArrayGeometry geometry_;
  bool masks_ = false;
  std::unique_ptr<health::Monitor> monitor_;  ///< null: not watched
  std::uint64_t interval_ = 1;
  std::uint64_t next_ = 0;
  std::vector<std::complex<float>> spectra_;
  std::map<int, health::Condition> found_;  ///< first causes, also of those that have recovered
};

/// "microphone 100 (row 3, column 4): noisy".
std::string text_of(const health::Change& change, const ArrayGeometry& geometry);

/// `bad`, or none where they are too many to be masked (most_maskable()).
std::vector<int> maskable(std::vector<int> bad, const ArrayGeometry& geometry);

}  // namespace nearfield
