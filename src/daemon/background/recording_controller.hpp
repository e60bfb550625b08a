#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "control/metrics/metrics.hpp"
#include "control/service/log.hpp"
#include "control/socket/protocol.hpp"
#include "daemon/live/live_input.hpp"
#include "recording/recorder.hpp"

namespace nearfield::daemon {

/// Starts, arms, triggers and ends recordings. The recorder in use changes when another one is asked for; `install`
/// puts it where the engine's thread hands it frames, and waits for that.
class RecordingController {
 public:
  /// Called with the new recorder, which may be null, while the old one still lives.
  using Install = std::function<void(Recorder* recorder)>;

  /// `log` gets a line when a recording begins, ends or is refused.
  RecordingController(const LiveInput& input, Install install, std::shared_ptr<control::RateLimitedLog> log)
      : input_(input), install_(std::move(install)), log_(std::move(log)) {}
  /// Takes over the settings of the next recordings; arms where the settings say that a trigger begins them.
  void use(const Settings& settings);
  nlohmann::json execute(const control::RecordRequest& request);
  /// Ends a recording with all that was pushed and forgets the recorder.
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
  std::mutex mutex_;  ///< held by who changes anything below, also while a recording ends, which may take seconds
  Settings settings_;
  mutable std::mutex
      pointer_mutex_;  ///< of `recorder_`, held beside mutex_ while it changes: who only looks never waits
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace nearfield::daemon
