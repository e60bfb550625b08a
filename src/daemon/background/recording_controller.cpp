#include "daemon/background/recording_controller.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "config/live_samples.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "daemon/background/ring_freezer.hpp"
#include "files/nfr/nfr_list.hpp"

namespace nearfield::daemon {
namespace {

using control::RecordRequest;
using Action = RecordRequest::Action;

bool wants_bits(DaemonSettings::RecordWhat what) { return what != DaemonSettings::RecordWhat::kImages; }
bool wants_images(DaemonSettings::RecordWhat what) { return what != DaemonSettings::RecordWhat::kBits; }

/// Waits until a recording has begun, or has ended at once because its file can't be created.
RecorderStatus begun(const Recorder& recorder) {
  constexpr std::chrono::milliseconds kLook{1};
  constexpr int kLooks = 1000;
  RecorderStatus status = recorder.status();
  for (int look = 0; look < kLooks && status.state == RecordingState::kRecording && status.path.empty(); ++look) {
    std::this_thread::sleep_for(kLook);
    status = recorder.status();
  }
  return status;
}

/// True if recorders made from the two settings would be identical.
bool records_alike(const Settings& a, const Settings& b) {
  return a.daemon->recording == b.daemon->recording && a.array.geometry == b.array.geometry &&
         a.array.sensitivity_dbfs == b.array.sensitivity_dbfs && a.holography.standoff_m == b.holography.standoff_m;
}

const char* word_of_trigger(DaemonSettings::Trigger trigger) {
  switch (trigger) {
    case DaemonSettings::Trigger::kLevel:
      return "level";
    case DaemonSettings::Trigger::kExternal:
      return "external";
    case DaemonSettings::Trigger::kLimit:
      return "limit";
    default:
      return "none";
  }
}

/// True if the settings alone arm a recorder.
bool arms_by(const DaemonSettings::Recording& recording) {
  return recording.trigger != DaemonSettings::Trigger::kNone && !recording.directory.empty();
}

/// Logs a line when a recording begins, ends or is refused; on the recorder's thread.
void log_change(control::RateLimitedLog& log, const RecorderStatus& status, const char* elements) {
  if (status.state == RecordingState::kRecording) {
    log.log(spdlog::level::info, "recording", "recording begins: {}", status.path);
    return;
  }
  const bool failed = is_failure(status.end_cause);
  const nfr::BitCounts& bits = status.bits;
  if (status.path.empty()) {
    log.log(failed ? spdlog::level::err : spdlog::level::info, failed ? "recording_failed" : "recording",
            "no recording begins: {}", status.end_reason);
    return;
  }
  log.log(failed ? spdlog::level::err : spdlog::level::info, failed ? "recording_failed" : "recording",
          "recording ends: {}: {}; {} bytes, {} {} = {} stored + {} never sent + {} paused + {} overrun + {} dropped",
          status.path, status.end_reason, status.bytes, bits.sum(), elements, bits.received, bits.not_sent, bits.paused,
          bits.overrun, bits.dropped);
}

/// Logs a line for each removed recording, and if one could not be removed.
void log_room(control::RateLimitedLog& log, const FolderUsage& room) {
  for (const FolderUsage::Removed& removed : room.removed) {
    spdlog::info("recording removed: {}, {} bytes; {} cause=recording_removed", removed.path.string(), removed.bytes,
                 removed.why);  // never rate-limited: the file is gone
  }
  if (!room.problem.empty()) {
    log.log(spdlog::level::err, "recording_not_removed", "{}", room.problem);
  }
}

}  // namespace

RecordingController::RecordingController(const LiveInput& input, Install install,
                                         std::shared_ptr<control::RateLimitedLog> log)
    : input_(input),
      install_(std::move(install)),
      log_(std::move(log)),
      keeper_([log = log_](const FolderUsage& room) { log_room(*log, room); }) {}

void RecordingController::use(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  const bool same = records_alike(settings_, settings);
  const bool was_armed = arms_by(settings_.daemon->recording);
  const bool arms = arms_by(settings.daemon->recording);
  settings_ = settings;
  keeper_.use(settings.daemon->recording);
  {
    const std::lock_guard settings_lock(settings_mutex_);
    triggers_ = settings.daemon->recording;
  }
  if (arms && !(recorder_ && same) && !is(RecordingState::kRecording)) {
    install({.action = Action::kArm, .bits = {}, .images = {}, .seconds = {}, .name = {}});
    recorder_->arm();
  } else if (was_armed && !arms && is(RecordingState::kArmed)) {
    recorder_->disarm();
  }
}

RecorderOptions RecordingController::options(const RecordRequest& request) const {
  const DaemonSettings::Recording& recording = settings_.daemon->recording;
  if (recording.directory.empty()) {
    throw ConfigError("daemon.recording.directory: expected a folder, found none, so that nothing can be recorded");
  }
  const ArraySettings& array = settings_.array;
  RecorderOptions options;
  options.info.measurement = {.geometry = array.geometry,
                              .standoff_m = settings_.holography.standoff_m,
                              .sensitivity_dbfs = array.sensitivity_dbfs};
  options.info.layout = array.layout;
  if (input_.form == InputForm::kSamples) {
    options.info.holds_samples = true;
    options.info.pascal_per_unit =
        takes_live_samples(settings_.daemon->source) ? array.pascal_per_unit : std::optional(1.0);
  }
  options.info.sample_rate_hz = input_.element_rate_hz;
  options.info.notes = request.notes;
  const std::string name = request.name.empty() ? "%Y%m%dT%H%M%SZ" : request.name;
  options.path = (std::filesystem::path(recording.directory) / (name + ".nfr")).string();
  const bool chosen = request.bits.has_value() || request.images.has_value();
  options.bits = chosen ? request.bits.value_or(false) : wants_bits(recording.what);
  options.images = chosen ? request.images.value_or(false) : wants_images(recording.what);
  options.changed = [log = log_, elements = options.info.elements()](const RecorderStatus& status) {
    log_change(*log, status, elements);
  };
  options.made_room = [keeper = &keeper_](const FolderUsage& room) { keeper->add(room); };
  options.finished = [keeper = &keeper_](const std::filesystem::path& path) { keeper->finished(path); };
  options.settings = recording;
  options.settings.max_s = request.seconds.value_or(recording.max_s);
  if (request.action != Action::kArm) {
    options.settings.pre_trigger_s = 0.0;
    options.settings.trigger = DaemonSettings::Trigger::kNone;
  } else if (options.is_by_level()) {
    options.images = true;
  }
  return options;
}

bool RecordingController::is(RecordingState state) const { return recorder_ && recorder_->status().state == state; }

void RecordingController::install(const RecordRequest& request) {
  auto next = std::make_unique<Recorder>(options(request));
  install_(next.get());
  const std::lock_guard lock(pointer_mutex_);
  std::swap(recorder_, next);
}

void RecordingController::start(const RecordRequest& request) {
  if (is(RecordingState::kRecording)) {
    throw UsageError(fmt::format("record: expected no recording under way, found {}", recorder_->status().path));
  }
  const bool as_armed =
      !request.bits && !request.images && !request.seconds && request.name.empty() && request.notes.empty();
  if (request.action == Action::kArm) {
    install(request);
    recorder_->arm();
  } else if (is(RecordingState::kArmed) && as_armed) {
    recorder_->start();
  } else {
    install(request);
    recorder_->start();
  }
}

void RecordingController::trigger() {
  if (!is(RecordingState::kArmed)) {
    throw UsageError("record: expected an armed recorder to trigger, found none; use record arm first");
  }
  recorder_->trigger();
}

void RecordingController::stop() {
  if (is(RecordingState::kRecording)) {
    recorder_->stop();
  } else if (is(RecordingState::kArmed)) {
    recorder_->disarm();
  } else {
    throw UsageError("record: expected a recording to stop, found none");
  }
}

nlohmann::json RecordingController::execute(const RecordRequest& request) {
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
  recorder_->wait_for_requests();
  const bool begins = request.action == Action::kStart || request.action == Action::kTrigger;
  const RecorderStatus status = begins ? begun(*recorder_) : recorder_->status();
  if (begins && is_failure(status.end_cause)) {
    throw IoError(fmt::format("record: {}", status.end_reason));
  }
  const std::string state(name_of(status.state));
  std::string message = status.path.empty() ? state : fmt::format("{}: {}", state, status.path);
  if (!status.end_reason.empty()) {
    message += fmt::format(" ({})", status.end_reason);
  }
  return {{"state", state}, {"path", status.path}, {"bytes", status.bytes}, {"message", message}};
}

nlohmann::json RecordingController::freeze(const std::string& name, IngestRing& ring,
                                           const std::function<void(Recorder&)>& begin) {
  RecorderOptions chosen;
  {
    const std::lock_guard lock(mutex_);
    chosen = options({.action = Action::kStart,
                      .bits = true,
                      .images = false,
                      .seconds = {},
                      .name = name.empty() ? "frozen_%Y%m%dT%H%M%SZ" : name});
  }
  const char* const elements = chosen.info.elements();
  const RecorderStatus status = freeze_ring(ring, std::move(chosen), begin);
  if (is_failure(status.end_cause)) {
    throw IoError(fmt::format("freeze: {}", status.end_reason));
  }
  const double seconds = static_cast<double>(status.bits.sum()) / input_.element_rate_hz;
  return {{"path", status.path},
          {"bytes", status.bytes},
          {"bit_times", status.bits.sum()},
          {"stored", status.bits.received},
          {"message", fmt::format("{}: {:.3f} s, {} of {} {}", status.path, seconds, status.bits.received,
                                  status.bits.sum(), elements)}};
}

void RecordingController::close() {
  const std::lock_guard lock(mutex_);
  install_(nullptr);
  std::unique_ptr<Recorder> last;  // destroyed outside of the lock
  const std::lock_guard pointer_lock(pointer_mutex_);
  std::swap(recorder_, last);
}

nlohmann::json RecordingController::recordings() const {
  constexpr std::size_t kMostListed = 200;
  std::string folder;
  std::string present;
  {
    const std::lock_guard lock(mutex_);
    folder = settings_.daemon->recording.directory;
    present = is(RecordingState::kRecording) ? recorder_->status().path : std::string();
  }
  nlohmann::json list = nlohmann::json::array();
  const nfr::RecordingList found = folder.empty() ? nfr::RecordingList() : nfr::list_recordings(folder, kMostListed);
  for (const nfr::ListedRecording& one : found.recordings) {
    std::string state = "incomplete";
    if (one.path.string() == present) {
      state = "recording";
    } else if (!one.is_sound) {
      state = "damaged";
    } else if (one.reason) {
      state = "complete";
    }
    list.push_back({{"name", one.path.filename().string()},
                    {"path", std::filesystem::absolute(one.path).string()},
                    {"bytes", one.bytes},
                    {"began", one.is_sound ? nlohmann::json(one.began_tai_ns) : nlohmann::json(nullptr)},
                    {"seconds", one.seconds ? nlohmann::json(*one.seconds) : nlohmann::json(nullptr)},
                    {"notes", one.notes},
                    {"began_by", one.began_by},
                    {"state", state}});
  }
  const RetentionKeeper::Account room = keeper_.account();
  return {{"bytes", room.used_bytes},
          {"free_bytes", room.free_bytes ? nlohmann::json(*room.free_bytes) : nlohmann::json(nullptr)},
          {"removed", room.removed},
          {"removed_bytes", room.removed_bytes},
          {"directory", folder},
          {"found", found.found},
          {"is_whole", found.is_whole},
          {"recordings", list}};
}

nlohmann::json RecordingController::trigger_status() const {
  const std::optional<RecorderStatus> now = status();
  const std::lock_guard lock(settings_mutex_);
  const bool has_begun = now && !now->began_by.empty();
  return {{"trigger", word_of_trigger(triggers_.trigger)},
          {"level", triggers_.level},
          {"quiet_s", triggers_.quiet_s},
          {"pause_s", triggers_.pause_s},
          {"pre_trigger_s", triggers_.pre_trigger_s},
          {"recordings", now ? now->recordings : 0},
          {"began_by", has_begun ? nlohmann::json(now->began_by) : nlohmann::json(nullptr)}};
}

std::uint64_t RecordingController::memory_bytes() const {
  const std::lock_guard lock(pointer_mutex_);
  return recorder_ ? recorder_->memory_bytes() : 0;
}

std::optional<RecorderStatus> RecordingController::status() const {
  const std::lock_guard lock(pointer_mutex_);
  return recorder_ ? std::optional(recorder_->status()) : std::nullopt;
}

void RecordingController::update(control::Metrics& metrics) const {
  const std::optional<RecorderStatus> now = status();
  if (!now) {
    return;
  }
  RecordingState state = now->state;
  if (state != RecordingState::kRecording && state != RecordingState::kArmed) {
    state = is_failure(now->end_cause) ? RecordingState::kFailed : RecordingState::kIdle;
  }
  metrics.set_recording(state, now->bytes);
  const nfr::BitCounts& bits = now->bits;
  metrics.set_recording_bits({{bits.received, bits.not_sent, bits.paused, bits.overrun, bits.dropped}});
  std::string reason = now->end_reason;
  if (const std::uint64_t lost = bits.paused + bits.overrun + bits.dropped; lost > 0) {
    const auto all = static_cast<double>(lost + bits.received + bits.not_sent);
    reason += fmt::format("{}{:.2g} % not recorded: paused by daemon.overload {}, overrun {}, dropped {}",
                          reason.empty() ? "" : "; ", 100.0 * static_cast<double>(lost) / all, bits.paused,
                          bits.overrun, bits.dropped);
  }
  const bool has_both = !now->path.empty() && !reason.empty();
  metrics.set_recording_text(has_both ? fmt::format("{} ({})", now->path, reason) : now->path + reason);
}

}  // namespace nearfield::daemon
