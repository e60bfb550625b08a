#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "control/crash/crash_report.hpp"
#include "control/metrics/metrics.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/geometry.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "daemon/daemon.hpp"
#include "daemon/signals.hpp"
#include "limits/limit_watch.hpp"

namespace nearfield::daemon {
namespace {

/// Longest turn of the source's thread, which checks for a stop at least every 50 ms.
constexpr std::int64_t kSourceTurnNs = 10 * kNsPerSecond;

/// Longest turn of the control thread, which waits for disks if a client asks for recordings.
constexpr std::int64_t kControlTurnNs = 60 * kNsPerSecond;

/// Reply to the client that changed the configuration, with the warnings of the log.
nlohmann::json reply_of(const Configurator::Change& change) {
  return {{"epoch", change.epoch},
          {"message", fmt::format("epoch {} is in effect", change.epoch)},
          {"warnings", change.warnings}};
}

/// Sets a flag during its lifetime.
class Flagged {
 public:
  explicit Flagged(std::atomic<bool>& flag) : flag_(&flag) { *flag_ = true; }
  ~Flagged() { *flag_ = false; }
  Flagged(const Flagged&) = delete;
  Flagged& operator=(const Flagged&) = delete;

 private:
  std::atomic<bool>* flag_;
};

nlohmann::json senders_json(const SourceCounters& counters, std::int64_t now_ns) {
  nlohmann::json senders = {{"present", nullptr}, {"other", nullptr}};
  const auto describe = [&](const Sender& sender) {
    const std::int64_t ago_ns = std::max<std::int64_t>(now_ns - sender.seen_ns, 0);  // it may be newer than now_ns
    const double ago_s = static_cast<double>(ago_ns) / static_cast<double>(kNsPerSecond);
    return nlohmann::json{{"address", text_of(sender.peer)}, {"stream_id", sender.stream_id}, {"s_ago", ago_s}};
  };
  if (counters.sender) {
    senders["present"] = describe(*counters.sender);
    senders["present"].erase("s_ago");
  }
  // A sender that has taken over is no longer the other one.
  const bool took_over = counters.sender && counters.other && counters.sender->stream_id == counters.other->stream_id;
  if (counters.other && !took_over) {
    senders["other"] = describe(*counters.other);
  }
  return senders;
}

/// Absolute path, for clients with another working directory; null for a run with defaults.
nlohmann::json configuration_file(const std::string& path) {
  const bool is_file = !path.empty() && path != kStandardInput;
  return !is_file ? nlohmann::json() : nlohmann::json(std::filesystem::absolute(path).lexically_normal().string());
}

/// Quantity that the level of recordings limits; null if no processor makes images.
nlohmann::json level_of(const Engine& engine) {
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    for (const Product& product : engine.header(p).products) {
      if (product.name == "images") {
        return {{"processor", engine.header(p).processor}, {"quantity", product.quantity}, {"unit", product.unit}};
      }
    }
  }
  return nullptr;
}

/// Places of the microphones, [channel][x, y, z] in m, to a micrometre.
nlohmann::json places_of(const ArrayGeometry& geometry) {
  const auto rounded = [](double place_m) { return std::round(place_m * 1e6) / 1e6; };
  nlohmann::json places = nlohmann::json::array();
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    places.push_back({rounded(at.x_m), rounded(at.y_m), rounded(at.z_m)});
  }
  return places;
}

}  // namespace

void Daemon::open_control() {
  const DaemonSettings& daemon = *settings_.daemon;
  if (!daemon.metrics.address.empty()) {
    for (const health::Condition cause : health::kBadConditions) {
      metrics_->add_reader(
          "microphones_bad", "Microphones found bad, by cause",
          [this, cause] { return static_cast<double>(health_->bad_count(cause)); },
          control::Metrics::Label{"cause", std::string(health::name_of(cause))});
    }
    measure_limits();
    measure_recordings();
    control::add_clock_metrics(*metrics_);
    control::add_memory_metrics(*metrics_, [this] { return memory_figures(); });
    metrics_->add_reader("web_hangs_total", "How often the thread that serves page and metrics did not answer for 5 s",
                         [this] { return static_cast<double>(web_hangs_.load()); });
  }
  const std::lock_guard web_lock(web_mutex_);
  if (!daemon.control.socket.empty()) {
    serve_control();
  }
  web_ = std::make_unique<Web>(settings_, options_.version, metrics_);
  if (options_.web_fault) {
    web_->run(options_.web_fault);
  }
}

void Daemon::serve_control() {
  control::Actions actions;
  actions.status = [this] { return status(); };
  actions.config = [this, file = configuration_file(options_.configuration.path)] {
    if (options_.control_fault) {
      options_.control_fault();
    }
    const std::lock_guard lock(yaml_mutex_);
    return nlohmann::json{
        {"yaml", yaml_}, {"file", file}, {"version", options_.version}, {"microphones_m", microphones_m_}};
  };
  actions.set = [this](const std::vector<std::string>& overrides) {
    const Flagged changing(is_changing_);
    return reply_of(configurator_->set(overrides));
  };
  actions.reload = [this] {
    const Flagged changing(is_changing_);
    return reply_of(configurator_->reload());
  };
  actions.record = [this](const control::RecordRequest& request) { return recording_->execute(request); };
  actions.freeze = [this](const std::string& name) {
    return recording_->freeze(name, source_->ring(),
                              [this](Recorder& recorder) { boundary_.run([&] { begin_epoch(recorder); }); });
  };
  actions.events = [this] {
    nlohmann::json events = nlohmann::json::array();
    for (const limits::LimitEvent& event : limits_.events()) {
      events.push_back(limits::json_of(event));
    }
    return nlohmann::json{{"events", events}, {"dropped", limits_.dropped()}};
  };
  actions.recordings = [this] { return recording_->recordings(); };
  actions.stop = [this] {
    stop_ = true;
    return nlohmann::json{{"message", "stopping"}};
  };
  DaemonSettings::Control place = settings_.daemon->control;
  place.socket = socket_to_serve(place.socket, DaemonSettings::Control::kFile);
  server_ = std::make_unique<control::Server>(place, control::make_handlers(actions), log_);
  spdlog::info("control at {}", place.socket);
}

void Daemon::measure_recordings() {
  const auto add = [this](const char* name, const char* help, std::uint64_t RetentionKeeper::Account::*value) {
    metrics_->add_reader(name, help, [this, value] { return static_cast<double>(recording_->room().*value); });
  };
  add("recordings_bytes", "Size of all recordings in the folder", &RetentionKeeper::Account::used_bytes);
  metrics_->add_reader("recordings_free_bytes", "Free on the disk of the recordings; NaN: not known", [this] {
    const std::optional<std::uint64_t> free_bytes = recording_->room().free_bytes;
    return free_bytes ? static_cast<double>(*free_bytes) : std::numeric_limits<double>::quiet_NaN();
  });
  add("recordings_removed_total", "Recordings removed for others", &RetentionKeeper::Account::removed);
  add("recordings_removed_bytes_total", "Their size", &RetentionKeeper::Account::removed_bytes);
}

void Daemon::measure_limits() {
  const auto of_each = [this](const std::function<double(const limits::LimitState&)>& value) {
    return [this, value] {
      control::Metrics::Labelled values;
      for (const limits::LimitState& state : limits_.states()) {
        values.emplace_back(state.name, value(state));
      }
      return values;
    };
  };
  metrics_->add_readers("limit_state", "Limits that are exceeded: 1, else 0", "name",
                        of_each([](const limits::LimitState& state) { return state.is_above ? 1.0 : 0.0; }));
  metrics_->add_readers("limit_events_total", "How often a limit was exceeded", "name",
                        of_each([](const limits::LimitState& state) { return static_cast<double>(state.events); }));
}

void Daemon::log_run(const Epoch& epoch) {
  control::keep_crash_reports();  // after its programs were compiled
  const double hop = static_cast<double>(epoch.plan.settings.front_end.hop_samples);
  const double rate_hz = epoch.plan.sample_rate_hz / hop;
  hop_rate_hz_ = rate_hz;
  {
    const std::lock_guard lock(yaml_mutex_);
    yaml_ = epoch.engine->header(0).config;
    level_of_ = level_of(*epoch.engine);
    microphones_m_ = places_of(epoch.plan.settings.array.geometry);
  }
  const double window = static_cast<double>(epoch.plan.settings.front_end.window_samples);
  first_window_ns_ = std::llround((window + hop) / epoch.plan.sample_rate_hz * static_cast<double>(kNsPerSecond));
  most_idle_elements_ = static_cast<std::uint64_t>(std::max(window, hop)) * input_.elements_per_sample;
  metrics_->set_run({.version = options_.version,
                     .commit = options_.commit,
                     .device = epoch.engine->header(0).device,
                     .devices = devices_of(*epoch.engine),
                     .front_end = epoch.engine->header(0).front_end,
                     .source = input_.name,
                     .epoch = epoch.number,
                     .hop_rate_hz = rate_hz});
}

nlohmann::json Daemon::status() {
  recording_->update(*metrics_);
  nlohmann::json status = metrics_->status();
  const RetentionKeeper::Account room = recording_->room();
  status["recordings"] = {{"bytes", room.used_bytes},
                          {"free_bytes", room.free_bytes ? nlohmann::json(*room.free_bytes) : nlohmann::json(nullptr)},
                          {"removed", room.removed},
                          {"removed_bytes", room.removed_bytes}};
  status["input"] = input_watch_->status();
  status["counted_in"] = input_.form == InputForm::kSamples ? "samples" : "bit-times";
  if (source_->port() != 0) {
    status["port"] = source_->port();
  }
  status["senders"] = senders_json(source_->counters(), monotonic_ns());
  status["clock"] = control::clock_status();
  status["memory"] = control::memory_status(memory_figures());
  status["microphones"] = health_->status();
  status["search"] = search_->status();
  status["recording"].update(recording_->trigger_status());
  {
    const std::lock_guard lock(yaml_mutex_);
    status["recording"]["level_of"] = level_of_;
  }
  status["limits"] = nlohmann::json::array();
  for (const limits::LimitState& state : limits_.states()) {
    status["limits"].push_back(limits::json_of(state));
  }
  if (ring_output_) {
    status["readers"] = ring_output_->readers();
  }
  const std::int64_t hung_since_ns = web_hung_since_ns_;
  status["web"] = {{"state", hung_since_ns == 0 ? "serving" : "hung"}, {"hangs", web_hangs_.load()}};
  const std::lock_guard lock(web_mutex_);
  status["page"] = web_ ? web_->status() : nlohmann::json();
  return status;
}

control::MemoryFigures Daemon::memory_figures() const {
  const ocl::BufferBytes buffers = ocl::buffer_bytes();
  return {.ring_bytes = source_->ring().memory_bytes(),
          .history_bytes = recording_->memory_bytes(),
          .buffers_bytes = buffers.host,
          .device_bytes = buffers.device,
          .driver_heap_bytes = driver_memory_.anonymous_bytes,
          .driver_files = driver_memory_.files};
}

/// Ends the process if the deadline is not the default, which the shipped configuration has, or if a service manager
/// watches the process and restarts it. A daemon that is started by hand, on a busy or a suspended machine, continues.
bool Daemon::meet_hung_frame(std::int64_t age_ns) {
  constexpr const char* kKey = "daemon.deadlines.frame_ms";
  const std::string hung = fmt::format("a frame has not ended after {} ms", age_ns / kNsPerMillisecond);
  if (frame_deadline_ms_ != DaemonSettings().deadlines.frame_ms || control::ServiceManager::is_there()) {
    end_process(ExitCode::kHungFrame, fmt::format("{} ({})", hung, kKey));
  }
  late_frames_ms_.store(age_ns / kNsPerMillisecond);
  return true;
}

/// Logs once why no client is served; each server waits by itself until there is a descriptor for its next client.
void Daemon::look_for_descriptors() {
  const FileDescriptor spare(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!spare.valid() && (errno == EMFILE || errno == ENFILE)) {
    log_->log(spdlog::level::warn, "descriptors",
              "no file descriptor is left ({}): no further client is served, and no recording begins; expected fewer "
              "clients, or a higher limit (LimitNOFILE of systemd, ulimit -n)",
              std::strerror(errno));
  }
}

std::int64_t Daemon::control_limit_ns() const {
  // A change may wait for one that SIGHUP began, and then takes equally long.
  const ConfigurationSource& configuration = options_.configuration;
  const double changing_s =
      is_changing_ ? 2.0 * (configuration.reading_limit_s + configuration.compiling_limit_s) : 0.0;
  const std::int64_t base_ns = options_.turn_limit_ns > 0 ? options_.turn_limit_ns : kControlTurnNs;
  return base_ns + nanoseconds(1e3 * changing_s);
}

void Daemon::log_turn(control::TurnWatch::Change change, const control::TurnWatch& watch, const char* thread) {
  const double silence_s = static_cast<double>(watch.silence_ns()) / static_cast<double>(kNsPerSecond);
  if (change == control::TurnWatch::Change::kBecameLate) {
    log_->log(spdlog::level::err, "thread_hung",
              "the thread of {} has not come round for {:.1f} s; the watchdog gets "
              "no notification until it does",
              thread, silence_s);
  } else if (change == control::TurnWatch::Change::kCameBack) {
    log_->log(spdlog::level::warn, "thread_hung", "the thread of {} came round again after {:.1f} s", thread,
              silence_s);
  }
}

bool Daemon::do_threads_turn(std::int64_t now_ns) {
  const std::int64_t source_limit_ns = options_.turn_limit_ns > 0 ? options_.turn_limit_ns : kSourceTurnNs;
  const bool source_runs = source_->state() == SourceState::kRunning;
  log_turn(source_runs ? source_turns_.look(source_->turns(), source_limit_ns, now_ns) : source_turns_.rest(now_ns),
           source_turns_, "the source");
  log_turn(server_ ? control_turns_.look(server_->rounds(), control_limit_ns(), now_ns) : control_turns_.rest(now_ns),
           control_turns_, "control");
  return !source_turns_.is_late() && !control_turns_.is_late();
}

/// Reports a hung thread that serves HTTP, and waits for it: frames, recordings and the control socket do not need it,
/// and a thread cannot be ended from outside.
void Daemon::watch_web(std::int64_t now_ns) {
  const std::lock_guard lock(web_mutex_);
  const bool is_hung = web_ && web_->look(now_ns) == Web::Health::kHung;
  const std::int64_t since_ns = web_hung_since_ns_;
  if (is_hung && since_ns == 0) {
    web_hung_since_ns_ = now_ns - Web::kHungNs;
    ++web_hangs_;
    log_->log(spdlog::level::err, "web_hung",
              "the thread that serves page and metrics has not answered for {} s; frames go on",
              Web::kHungNs / kNsPerSecond);
  } else if (!is_hung && since_ns != 0) {
    web_hung_since_ns_ = 0;
    log_->log(spdlog::level::warn, "web_hung", "page and metrics are served again, after {:.1f} s",
              static_cast<double>(now_ns - since_ns) / static_cast<double>(kNsPerSecond));
  }
}

/// Logs the counts of the engine's thread, so that it never waits for the log.
void Daemon::log_news() {
  if (const std::int64_t age_ms = late_frames_ms_.exchange(0); age_ms > 0) {
    log_->log(spdlog::level::warn, "slow_frame",
              "a frame has not ended after {} ms: a busy machine, or a device that hangs. The daemon goes on, as no "
              "service manager watches it; with a daemon.deadlines.frame_ms other than {:.0f}, the default, it would "
              "end with code {}",
              age_ms, DaemonSettings().deadlines.frame_ms, static_cast<int>(ExitCode::kHungFrame));
  }
  const StreamNews::News news = news_.take();
  if (news.start) {
    const std::optional<Sender> sender = source_->counters().sender;
    log_->log(spdlog::level::info, "stream", "stream {}{}{} begins at bit-time {}", news.start->stream_id,
              sender ? " of " : "", sender ? text_of(sender->peer) : "", news.start->first_element);
  }
  if (news.absent_hops > 0) {
    log_->log(spdlog::level::warn, "gap", "nothing came for {} hops before frame {}", news.absent_hops, news.sequence);
  }
  if (news.shed_hops > 0) {
    log_->log(spdlog::level::warn, "overload", "{} hops shed before frame {}", news.shed_hops, news.sequence);
  }
}

void Daemon::log_limits() {
  for (const limits::LimitEvent& event : limits_.collect()) {
    log_->log(event.begins ? spdlog::level::warn : spdlog::level::info, "limit", "{}", limits::text_of(event));
  }
}

void Daemon::watch_input(std::int64_t now_ns) {
  for (const InputWatch::Line& line : input_watch_->look(source_->ring().newest(), now_ns)) {
    log_->log(line.is_doubt ? spdlog::level::warn : spdlog::level::info, "input", "{}", line.text);
  }
}

/// Judges by windows, not by bits: a stranger's few bits are no input. Bits that wait for a busy engine count as input.
void Daemon::judge_input(std::int64_t now_ns) {
  const DaemonSettings::NoInput& rule = settings_.daemon->no_input;
  const bool is_waiting = source_->ring().counters().pending >= most_idle_elements_;
  const bool none = !is_waiting && now_ns - input_ns_ > nanoseconds(rule.after_ms) + first_window_ns_;
  if (none == no_input_) {
    return;
  }
  no_input_ = none;
  metrics_->set_no_input(none);
  if (!none) {
    spdlog::info("{}: windows come again", input_.name);
  } else if (rule.is_fault) {
    throw NoInputError(
        fmt::format("{}: no window that can be imaged for {} ms (daemon.no_input)", input_.name, rule.after_ms));
  } else {
    spdlog::warn("{}: no input", input_.name);
  }
  service_.status(none ? "no input" : fmt::format("{}, {:.0f} frames a second", input_.name, hop_rate_hz_.load()));
}

nlohmann::json Daemon::summary() const {
  nlohmann::json summary = summary_.json(source_->counters(), hop_rate_hz_);
  for (const auto& [processor, device] : devices_of(*engine_->epoch().engine)) {
    summary["devices"][processor] = device;
  }
  return summary;
}

}  // namespace nearfield::daemon
