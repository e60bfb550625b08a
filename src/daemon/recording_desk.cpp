#include "daemon/recording_desk.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "nearfield/error.hpp"

namespace nearfield::daemon {
namespace {

using control::RecordRequest;
using Action = RecordRequest::Action;

bool wants_bits(DaemonSettings::RecordWhat what) { return what != DaemonSettings::RecordWhat::kImages; }
bool is_failure(EndCause cause) { return cause >= EndCause::kDiskFull; }
bool wants_images(DaemonSettings::RecordWhat what) { return what != DaemonSettings::RecordWhat::kBits; }

/// A file that can't be created ends the recording just after it was begun: waits for one or the other.
RecorderStatus begun(const Recorder& recorder) {
  constexpr std::chrono::milliseconds kLook{1};
  constexpr int kLooks = 1000;
  RecorderStatus status = recorder.status();
  for (int look = 0; look < kLooks && status.state == RecorderState::kRecording && status.path.empty(); ++look) {
    std::this_thread::sleep_for(kLook);
    status = recorder.status();
  }
  return status;
}

}  // namespace

void RecordingDesk::use(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  const bool same = settings_.daemon.recording == settings.daemon.recording;
  settings_ = settings;
  const DaemonSettings::Recording& recording = settings.daemon.recording;
  const bool arms = recording.trigger != DaemonSettings::Trigger::kNone && !recording.directory.empty();
  if (arms && !(recorder_ && same) && !is(RecorderState::kRecording)) {
    install({.action = Action::kArm, .bits = {}, .images = {}, .seconds = {}, .name = {}});
    recorder_->arm();
  }
}

RecorderOptions RecordingDesk::options(const RecordRequest& request) const {
  const DaemonSettings::Recording& recording = settings_.daemon.recording;
  if (recording.directory.empty()) {
    throw ConfigError("daemon.recording.directory: expected a folder, found none, so that nothing can be recorded");
  }
  const ArraySettings& array = settings_.array;
  const bool has_bits = input_.form == InputForm::kBits;
  RecorderOptions options;
  options.info.measurement = {.geometry = array.geometry,
                              .standoff_m = settings_.holography.standoff_m,
                              .sensitivity_dbfs = array.sensitivity_dbfs};
  options.info.layout = array.layout;
  options.info.sample_rate_hz = input_.element_rate_hz;
  const std::string name = request.name.empty() ? "%Y%m%dT%H%M%SZ" : request.name;
  options.path = (std::filesystem::path(recording.directory) / (name + ".nfr")).string();
  const bool chosen = request.bits.has_value() || request.images.has_value();
  options.bits = chosen ? request.bits.value_or(false) : wants_bits(recording.what) && has_bits;
  options.images = chosen ? request.images.value_or(false) : wants_images(recording.what) || !has_bits;
  if (options.bits && !has_bits) {
    throw ConfigError(fmt::format("{}: it delivers decimated samples; only images can be recorded", input_.name));
  }
  options.max_bytes = static_cast<std::uint64_t>(recording.max_bytes);
  options.max_seconds = request.seconds.value_or(recording.max_s);
  if (request.action == Action::kArm) {
    options.history_s = recording.pre_trigger_s;
    if (recording.trigger == DaemonSettings::Trigger::kLevel) {
      options.images = true;
      options.level = LevelTrigger{.level = recording.level, .quiet_s = recording.pre_trigger_s, .pixel = {}};
    }
  }
  return options;
}

bool RecordingDesk::is(RecorderState state) const { return recorder_ && recorder_->status().state == state; }

void RecordingDesk::install(const RecordRequest& request) {
  auto next = std::make_unique<Recorder>(options(request));
  install_(next.get());
  std::swap(recorder_, next);
}

void RecordingDesk::start(const RecordRequest& request) {
  if (is(RecorderState::kRecording)) {
    throw UsageError(fmt::format("record: expected no recording under way, found {}", recorder_->status().path));
  }
  const bool as_armed = !request.bits && !request.images && !request.seconds && request.name.empty();
  if (request.action == Action::kArm) {
    install(request);
    recorder_->arm();
  } else if (is(RecorderState::kArmed) && as_armed) {
    recorder_->start();
  } else {
    install(request);
    recorder_->start();
  }
}

void RecordingDesk::trigger() {
  if (!is(RecorderState::kArmed)) {
    throw UsageError("record: expected an armed recorder to trigger, found none; use record arm first");
  }
  recorder_->trigger();
}

void RecordingDesk::stop() {
  if (is(RecorderState::kRecording)) {
    recorder_->stop();
  } else if (is(RecorderState::kArmed)) {
    recorder_->disarm();
  } else {
    throw UsageError("record: expected a recording to stop, found none");
  }
}

nlohmann::json RecordingDesk::obey(const RecordRequest& request) {
  const std::lock_guard lock(mutex_);
  switch (request.action) {
    case Action::kStart:
    case Action::kArm:
      start(request);
      break;
    case Action::kTrigger:
      trigger();
      break;
    case Action::kStop:
      stop();
      break;
  }
  recorder_->wait_until_obeyed();
  const RecorderStatus status = request.action == Action::kStart ? begun(*recorder_) : recorder_->status();
  if (request.action == Action::kStart && is_failure(status.end_cause)) {
    throw IoError(fmt::format("record: {}", status.end_reason));
  }
  const std::string state(name_of(status.state));
  std::string message = status.path.empty() ? state : fmt::format("{}: {}", state, status.path);
  if (!status.end_reason.empty()) {
    message += fmt::format(" ({})", status.end_reason);
  }
  return {{"state", state}, {"path", status.path}, {"bytes", status.bytes}, {"message", message}};
}

void RecordingDesk::close() {
  const std::lock_guard lock(mutex_);
  install_(nullptr);
  recorder_.reset();
}

std::optional<RecorderStatus> RecordingDesk::status() const {
  const std::lock_guard lock(mutex_);
  return recorder_ ? std::optional(recorder_->status()) : std::nullopt;
}

void RecordingDesk::tell(control::Metrics& metrics) const {
  const std::optional<RecorderStatus> now = status();
  if (!now) {
    return;
  }
  control::RecordingState state = control::RecordingState::kIdle;
  if (now->state == RecorderState::kRecording || now->state == RecorderState::kArmed) {
    state = now->state == RecorderState::kArmed ? control::RecordingState::kArmed : control::RecordingState::kRecording;
  } else if (is_failure(now->end_cause)) {
    state = control::RecordingState::kFailed;
  }
  metrics.set_recording(state, now->bytes);
  metrics.set_recording_text(now->end_reason.empty() ? now->path : fmt::format("{} ({})", now->path, now->end_reason));
}

}  // namespace nearfield::daemon
