#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/frame.hpp"
#include "engine/engine.hpp"
#include "recording/lane.hpp"

namespace nearfield::daemon {

/// The outputs that are paused while the engine is behind.
struct Pauses {
  bool dashboards = false;
  bool recordings = false;
};

/// Passes frames to the outputs, in the order of their priority. Owns none of them; all calls except counts() on the
/// engine's thread.
class Publisher {
 public:
  /// Service order of outputs, first to last.
  enum class Priority : std::size_t { kController, kRecorder, kDashboard };
  struct Counts {
    std::uint64_t paused_dashboard_frames = 0;
    std::uint64_t paused_recording_frames = 0;
  };

  Publisher() = default;
  /// Replaces the output of this priority; null: none.
  void set(Priority priority, Output* output);
  /// Sets the receiver of the source's bits; null: none.
  void set_bits(BitsTap* bits) { bits_ = bits; }

  /// Begins an epoch for all the engine's processors. Throws what an output throws; those of lower priority then have
  /// the new epoch.
  void begin(const Engine& engine, std::uint64_t epoch);
  /// Passes on the mask of the next frames; an output that is set later receives it, too.
  void mask(const MaskChange& change);
  /// Returns when controllers have the frame.
  void publish_to_controllers(const Frame& frame);
  void publish_to_others(const Frame& frame, const Pauses& pauses);
  [[nodiscard]] BitsTap* recorder_of_bits() const { return bits_; }
  /// From any thread.
  [[nodiscard]] Counts counts() const { return {dashboard_frames_, recording_frames_}; }

 private:
  Output*& output_of(Priority priority) { return outputs_[static_cast<std::size_t>(priority)]; }
  void write(Priority priority, const Frame& frame, bool is_paused, std::atomic<std::uint64_t>& paused_frames);

  std::array<Output*, 3> outputs_{};  ///< [priority]
  BitsTap* bits_ = nullptr;
  std::optional<MaskChange> mask_;
  std::atomic<std::uint64_t> dashboard_frames_{0}, recording_frames_{0};
};

}  // namespace nearfield::daemon
