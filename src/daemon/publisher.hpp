#pragma once
#include <atomic>
#include <cstdint>

#include "publish/live_frame.hpp"
#include "recording/bits_tap.hpp"

namespace nearfield::daemon {

/// What must not be served while the engine is behind.
struct Pauses {
  bool dashboards = false;
  bool recordings = false;
};

/// Hands frames to who wants them: controllers first, then the recorder, then dashboards. Owns none of them; all calls
/// but counts() on the engine's thread.
class Publisher {
 public:
  struct Sinks {
    LiveSink* controllers = nullptr;
    LiveSink* recorder = nullptr;
    BitsTap* recorder_bits = nullptr;
    LiveSink* dashboards = nullptr;
  };
  struct Counts {
    std::uint64_t paused_dashboard_frames = 0;
    std::uint64_t paused_recording_frames = 0;
  };

  explicit Publisher(const Sinks& sinks) : sinks_(sinks) {}
  [[nodiscard]] const Sinks& sinks() const { return sinks_; }
  void set_sinks(const Sinks& sinks) { sinks_ = sinks; }

  /// Throws what a sink throws; the sinks before it have the new epoch then.
  void begin_epoch(const ImagesHeader& header, std::uint64_t epoch);
  /// Controllers have the frame when this returns.
  void publish_to_controllers(const LiveFrame& frame);
  void publish_to_others(const LiveFrame& frame, const Pauses& pauses);
  /// During a pause the recorder is told of the piece, as a gap that is the daemon's.
  void record(const BitsPiece& piece, const Pauses& pauses);
  [[nodiscard]] bool records_bits() const { return sinks_.recorder_bits != nullptr; }
  /// From any thread.
  [[nodiscard]] Counts counts() const { return {dashboard_frames_, recording_frames_}; }

 private:
  Sinks sinks_;
  std::atomic<std::uint64_t> dashboard_frames_{0}, recording_frames_{0};
};

}  // namespace nearfield::daemon
