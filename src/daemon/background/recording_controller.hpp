#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "control/metrics/metrics.hpp"
#include "control/service/log.hpp"
#include "control/socket/protocol.hpp"
#include "daemon/live/live_input.hpp"
#include "nearfield/daemon_settings.hpp"
#include "recording/recorder.hpp"
#include "recording/room.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Starts, arms, triggers and ends recordings. The recorder in use changes with a request for another one; `install`
/// puts it where the engine's thread passes frames to it, and waits for that.
class RecordingController {
 public:
  /// Called with the new recorder, which may be null, while the old one still exists.
  using Install = std::function<void(Recorder* recorder)>;

  /// `log` gets a line when a recording begins, ends or is refused.
  RecordingController(const LiveInput& input, Install install, std::shared_ptr<control::RateLimitedLog> log);
  /// Takes over the settings of the next recordings; arms where the settings say that a trigger begins them.
  void use(const Settings& settings);
  nlohmann::json execute(const control::RecordRequest& request);
  /// Writes what the ring holds into a recording beside the one that may be under way; `begin` as of freeze_ring().
  /// `name` is the file's in the folder of the recordings; empty: "frozen_" and the time.
  nlohmann::json freeze(const std::string& name, IngestRing& ring, const std::function<void(Recorder&)>& begin);
  /// The newest files in the folder of the recordings, newest first, by their heads and ends.
  [[nodiscard]] nlohmann::json recordings() const;
  /// Ends a recording with all that was pushed and destroys the recorder.
  void close();
  /// Of the recorder in use, if there is one.
  [[nodiscard]] std::optional<RecorderStatus> status() const;
  /// Memory of the recorder in use, its history's too; 0 where there is none.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  void update(control::Metrics& metrics) const;
  /// Of all recordings in the folder, for the status.
  [[nodiscard]] RoomKeeper::Account room() const { return keeper_.account(); }
  /// What begins recordings, by the settings in effect, and what began the last one. Waits for no recording's end.
  [[nodiscard]] nlohmann::json trigger_status() const;

 private:
  [[nodiscard]] RecorderOptions options(const control::RecordRequest& request) const;
  void install(const control::RecordRequest& request);
  [[nodiscard]] bool is(RecorderState state) const;
  void start(const control::RecordRequest& request);
  void trigger();
  void stop();

  LiveInput input_;
  Install install_;
  std::shared_ptr<control::RateLimitedLog> log_;
  mutable std::mutex
      mutex_;  ///< held during changes of the members below, also while a recording ends, which may take seconds
  Settings settings_;
  mutable RoomKeeper keeper_;         ///< before the recorder, which calls it
  mutable std::mutex pointer_mutex_;  ///< guards `recorder_`, held together with mutex_ while it changes: readers wait
                                      ///< for no change of a recording
  std::unique_ptr<Recorder> recorder_;
  mutable std::mutex settings_mutex_;     ///< guards `triggers_` alone, for readers of the status
  DaemonSettings::Recording triggers_{};  ///< as in settings_
};

}  // namespace nearfield::daemon
