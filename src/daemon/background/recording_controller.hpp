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
#include "core/daemon_settings.hpp"
#include "daemon/live/live_input.hpp"
#include "recording/recorder.hpp"
#include "recording/retention.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Starts, arms, triggers and ends recordings. A request for different options replaces the recorder in use; `install`
/// passes it to the engine's thread, and waits for that.
class RecordingController {
 public:
  /// Called with the new recorder, which may be null, while the old one still exists.
  using Install = std::function<void(Recorder* recorder)>;

  /// `log` gets a line when a recording begins, ends or is refused.
  RecordingController(const LiveInput& input, Install install, std::shared_ptr<control::RateLimitedLog> log);
  /// Takes over the settings of the next recordings; arms if they have a trigger.
  void use(const Settings& settings);
  nlohmann::json execute(const control::RecordRequest& request);
  /// Writes the ring's contents into a recording, independent of one in progress; `begin` is that of freeze_ring().
  /// `name` is the name of a file in the folder of the recordings; empty: "frozen_" and the time.
  nlohmann::json freeze(const std::string& name, IngestRing& ring, const std::function<void(Recorder&)>& begin);
  /// Newest files in the folder of the recordings, newest first, from their heads and ends.
  [[nodiscard]] nlohmann::json recordings() const;
  /// Ends a recording with everything pushed so far and destroys the recorder.
  void close();
  /// Status of the recorder in use, or nullopt.
  [[nodiscard]] std::optional<RecorderStatus> status() const;
  /// Memory of the recorder in use, including its history; 0 if there is none.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  void update(control::Metrics& metrics) const;
  /// Disk use of all recordings in the folder, for the status.
  [[nodiscard]] RetentionKeeper::Account room() const { return keeper_.account(); }
  /// The trigger of recordings in the settings in effect, and the cause of the last one. Does not wait for the end of a
  /// recording.
  [[nodiscard]] nlohmann::json trigger_status() const;

 private:
  [[nodiscard]] RecorderOptions options(const control::RecordRequest& request) const;
  void install(const control::RecordRequest& request);
  [[nodiscard]] bool is(RecordingState state) const;
  void start(const control::RecordRequest& request);
  void trigger();
  void stop();

  LiveInput input_;
  Install install_;
  std::shared_ptr<control::RateLimitedLog> log_;
  mutable std::mutex
      mutex_;  ///< held during changes of the members below, also while a recording ends, which may take seconds
  Settings settings_;
  mutable RetentionKeeper keeper_;    ///< before the recorder, which uses it
  mutable std::mutex pointer_mutex_;  ///< guards `recorder_`; taken besides mutex_ while it changes, so that readers do
                                      ///< not wait for a change of a recording
  std::unique_ptr<Recorder> recorder_;
  mutable std::mutex settings_mutex_;     ///< guards only `triggers_`, for readers of the status
  DaemonSettings::Recording triggers_{};  ///< copy from settings_
};

}  // namespace nearfield::daemon
