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
#include "recording/recorder.hpp"
#include "stream/ingest_ring.hpp"

namespace nearfield::daemon {

/// Starts, arms, triggers and ends recordings. The recorder in use changes with a request for another one; `install`
/// puts it where the engine's thread passes frames to it, and waits for that.
class RecordingController {
 public:
  /// Called with the new recorder, which may be null, while the old one still exists.
  using Install = std::function<void(Recorder* recorder)>;

  /// `log` gets a line when a recording begins, ends or is refused.
  RecordingController(const LiveInput& input, Install install, std::shared_ptr<control::RateLimitedLog> log)
      : input_(input), install_(std::move(install)), log_(std::move(log)) {}
  /// Takes over the settings of the next recordings; arms where the settings say that a trigger begins them.
  void use(const Settings& settings);
  nlohmann::json execute(const control::RecordRequest& request);
  /// Writes what the ring holds into a recording beside the one that may be under way; `begin` as of freeze_ring().
  /// `name` is the file's in the folder of the recordings; empty: "frozen_" and the time.
  nlohmann::json freeze(const std::string& name, IngestRing& ring, const std::function<void(Recorder&)>& begin);
  /// Ends a recording with all that was pushed and destroys the recorder.
  void close();
  /// Of the recorder in use, if there is one.
  [[nodiscard]] std::optional<RecorderStatus> status() const;
  void update(control::Metrics& metrics) const;

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
  std::mutex mutex_;  ///< held during changes of the members below, also while a recording ends, which may take seconds
  Settings settings_;
  mutable std::mutex pointer_mutex_;  ///< guards `recorder_`, held together with mutex_ while it changes: readers wait
                                      ///< for no change of a recording
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace nearfield::daemon
