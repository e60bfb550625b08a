#include "daemon/daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "config/premises.hpp"
#include "control/checks/check.hpp"
#include "control/crash/crash_report.hpp"
#include "control/metrics/metrics.hpp"
#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "core/system/memory.hpp"
#include "daemon/device_check.hpp"
#include "daemon/signals.hpp"
#include "engine/microphone_watch.hpp"
#include "limits/limit_watch.hpp"
#include "stream/sources/playback.hpp"

namespace nearfield::daemon {
namespace {

/// Timeout of the engine's wait for bits: it then checks for a stop.
constexpr std::int64_t kStopCheckNs = 20 * kNsPerMillisecond;
constexpr std::int64_t kHousekeepingPeriodNs = 20 * kNsPerMillisecond;
constexpr std::int64_t kCountNs = 200 * kNsPerMillisecond;
/// Longest interval of the main thread's housekeeping, due every 20 ms; more means that the process or machine was
/// stopped.
constexpr std::int64_t kHousekeepingLateNs = 200 * kNsPerMillisecond;

/// Longest turn of the source's thread, which checks for a stop at least every 50 ms.
constexpr std::int64_t kSourceTurnNs = 10 * kNsPerSecond;
/// Longest turn of the control thread, which waits for disks if a client asks for recordings.
constexpr std::int64_t kControlTurnNs = 60 * kNsPerSecond;

/// Longest time that the end of the process waits for a thread that hangs.
constexpr std::int64_t kWebTimeoutNs = 2 * kNsPerSecond;

void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

void warn_of(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    spdlog::warn("{}", warning);
  }
}

/// Logs the notes on an epoch before its first frame.
void announce(const Epoch& epoch) {
  for (const std::string& note : epoch.notes) {
    spdlog::info("{}", note);
  }
  warn_of(epoch.warnings);
}

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

/// Sets the real-time priority of a thread of the stream; the main thread has logged already if it is not permitted.
std::function<void()> stream_thread(const char* name, const DaemonSettings::Realtime& realtime) {
  return [name, realtime] {
    name_thread(name);
    control::apply_realtime(realtime);
  };
}

/// Absolute path, for clients with another working directory; null for a run with defaults.
nlohmann::json configuration_file(const std::string& path) {
  const bool is_file = !path.empty() && path != kStandardInput;
  return !is_file ? nlohmann::json() : nlohmann::json(std::filesystem::absolute(path).lexically_normal().string());
}

/// Ends the process if a device fails, like the engine's thread. After other errors what was in effect stays.
void end_at_device_error(const std::exception& error) {
  if (const auto* const of_device = dynamic_cast<const DeviceError*>(&error); of_device != nullptr) {
    end_process(of_device->exit_code(), of_device->what());
  }
}

Beginning beginning_of(const Epoch& epoch, std::size_t processor) {
  return {.processor = processor, .epoch = epoch.number};
}

/// Quantity whose magnitude the level of recordings is; null if no processor makes images.
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

/// Name and device of each processor.
std::vector<std::pair<std::string, std::string>> devices_of(const Engine& engine) {
  std::vector<std::pair<std::string, std::string>> devices;
  for (std::size_t p = 0; p < engine.processors(); ++p) {
    devices.emplace_back(engine.header(p).processor, engine.header(p).device);
  }
  return devices;
}

}  // namespace

Daemon::Daemon(DaemonOptions options)
    : options_(std::move(options)),
      end_at_signal_(std::in_place),
      settings_(load_daemon_settings(options_.configuration.path, options_.configuration.overrides)) {
  control::set_up_log(settings_.daemon->log);
  log_ = std::make_shared<control::RateLimitedLog>(spdlog::default_logger(), monotonic_ns);
  const std::string& configuration = options_.configuration.path;
  spdlog::info("nearfieldd {}: configuration {}", options_.version,
               configuration.empty()             ? "of defaults"
               : configuration == kStandardInput ? "of standard input"
                                                 : configuration);
  // Threads that a device's driver starts inherit the priority.
  warn_of(control::apply_realtime(settings_.daemon->realtime));
  warn_of(control::exposure_warnings(*settings_.daemon));
  require_memory(needs_of_source(settings_), memory_room({}));
  ocl::DriverAccount driver_account;
  (void)ocl::Device::open(settings_.device);  // throws before a scene's bits are made, which takes up to minutes
  source_ = make_source(source_settings(settings_));
  warn_of(source_->warnings());
  input_ = live_input(settings_, *source_);
  input_watch_ = std::make_unique<InputWatch>(settings_, input_);
  spdlog::info("source: {}: {}", input_.name, input_watch_->text());
  const std::int64_t opened_ns = monotonic_ns();
  std::unique_ptr<Epoch> first =
      make_epoch(settings_, input_, 1, track_ids_, [](const std::string& line) { spdlog::info("{}", line); });
  for (const std::string& line : premises(first->plan.settings, first->plan.sample_rate_hz)) {
    spdlog::info("{}", line);
  }
  spdlog::info("device: {}, ready after {:.1f} s", first->engine->header(0).device,
               static_cast<double>(monotonic_ns() - opened_ns) / static_cast<double>(kNsPerSecond));
  for (const auto& [processor, device] : devices_of(*first->engine)) {
    if (device != first->engine->header(0).device) {
      spdlog::info("device of {}: {}", processor, device);
    }
  }
  driver_memory_ = driver_account.finish();
  announce(*first);
  control::leave_realtime();

  const std::int64_t now_ns = monotonic_ns();
  metrics_ = std::make_shared<control::Metrics>(metric_names(), now_ns);
  accounts_ = std::make_unique<Accounts>(metrics_, log_);
  watchdog_ = std::make_unique<control::Watchdog>(control::ServiceManager::watchdog_interval_ns(), now_ns);
  end_at_signal_.reset();  // from here on files must be cleaned up, which a stop in run() does
  make_socket_folders();
  open_outputs();
  // A separate worker, since a search may take seconds, during which microphones must remain watched.
  health_worker_ = std::make_unique<control::Worker>("nf-health", end_at_device_error);
  search_worker_ = std::make_unique<control::Worker>("nf-search", end_at_device_error, control::Worker::Priority::kLow);
  health_ = std::make_unique<HealthTask>(*health_worker_, health_hooks(first->plan.settings.array.geometry));
  health_->prepare(*first);
  search_ = std::make_unique<SearchTask>(*search_worker_, [this](const SearchChain::Found& found, std::uint64_t epoch) {
    boundary_.run([&] { engine_->adopt(found, epoch); });
  });
  search_->prepare(*first);
  log_run(*first);
  publisher_.begin(*first->engine, first->number);
  update_endpoints(*first);
  const Settings effective = first->plan.settings;
  limits_.use(std::move(first->limits));
  engine_ = std::make_unique<LiveEngine>(
      source_->ring(), input_, std::move(first), publisher_,
      LiveEngine::Options{
          .overload = settings_.daemon->overload, .poll_us = settings_.daemon->realtime.poll_us, .hooks = hooks()});
  configurator_ = std::make_unique<Configurator>(options_.configuration, settings_, input_, configurator_hooks());
  recording_ = std::make_unique<RecordingController>(
      input_, [this](Recorder* recorder) { install_recorder(recorder); }, log_);
  try {
    start_threads();
    recording_->use(effective);
    open_control();
    release_free_memory();  // after planning and compiling
    release_file_pages();
  } catch (...) {
    stop();
    throw;
  }
}

Daemon::~Daemon() { stop(); }

/// Called before the sockets are made, which may share a folder: a socket for other users determines the folder's mode.
void Daemon::make_socket_folders() const {
  struct Place {
    std::filesystem::path socket;
    bool serves_others;
  };
  std::vector<Place> places;
  const auto add = [&](const std::string& socket, std::string_view file, const DaemonSettings::Access& access) {
    if (!socket.empty()) {
      places.push_back(
          {socket_to_serve(socket, file), !access.allowed_users.empty() || !access.allowed_groups.empty()});
    }
  };
  const DaemonSettings& daemon = *settings_.daemon;
  add(daemon.publish.ring.socket, DaemonSettings::Ring::kFile, daemon.publish.ring.access);
  add(daemon.control.socket, DaemonSettings::Control::kFile, daemon.control.access);
  for (const Place& place : places) {
    const bool serves_others = std::any_of(places.begin(), places.end(), [&](const Place& other) {
      return other.serves_others && other.socket.parent_path() == place.socket.parent_path();
    });
    make_socket_folder(place.socket, serves_others);
  }
}

/// Rate in Hz of the unit that Frame::first_bit_time counts (bits or samples).
std::uint32_t Daemon::bit_rate_hz() const { return static_cast<std::uint32_t>(std::lround(input_.element_rate_hz)); }

void Daemon::open_outputs() {
  const DaemonSettings::Publish& publish = settings_.daemon->publish;
  if (!publish.ring.socket.empty()) {
    ring::ServerOptions server;
    server.socket = socket_to_serve(publish.ring.socket, DaemonSettings::Ring::kFile);
    server.access = publish.ring.access;
    ring::RingOptions ring;
    ring.slots = static_cast<std::uint32_t>(std::max(4, publish.ring.slots));
    ring.phase_reference = publish.phase_reference;
    ring.bit_rate_hz = bit_rate_hz();
    ring_output_ = std::make_unique<ring::RingOutput>(ring, server);
    spdlog::info("frames for controllers at {}", server.socket.string());
    publisher_.set(Publisher::Priority::kController, ring_output_.get());
  }
  if (!publish.zmq.endpoint.empty()) {
    DaemonSettings::Zmq zmq = publish.zmq;
    if (!zmq.curve_secret_file.empty()) {
      zmq.curve_secret_file = control::credential_path(zmq.curve_secret_file);
    }
    zmq_output_ = std::make_unique<ring::ZmqOutput>(zmq, publish.phase_reference, bit_rate_hz());
    spdlog::info("frames for dashboards at {}", zmq_output_->endpoint());
    publisher_.set(Publisher::Priority::kDashboard, zmq_output_.get());
  }
}

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
    return nlohmann::json{{"yaml", yaml_}, {"file", file}, {"version", options_.version}};
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
  const auto add = [this](const char* name, const char* help, std::uint64_t RoomKeeper::Account::*value) {
    metrics_->add_reader(name, help, [this, value] { return static_cast<double>(recording_->room().*value); });
  };
  add("recordings_bytes", "Size of all recordings in the folder", &RoomKeeper::Account::used_bytes);
  metrics_->add_reader("recordings_free_bytes", "Free on the disk of the recordings; NaN: not known", [this] {
    const std::optional<std::uint64_t> free_bytes = recording_->room().free_bytes;
    return free_bytes ? static_cast<double>(*free_bytes) : std::numeric_limits<double>::quiet_NaN();
  });
  add("recordings_removed_total", "Recordings removed for others", &RoomKeeper::Account::removed);
  add("recordings_removed_bytes_total", "Their size", &RoomKeeper::Account::removed_bytes);
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

LiveHooks Daemon::hooks() {
  LiveHooks hooks;
  hooks.begin = [this](std::int64_t now_ns) { watch_->begin(now_ns); };
  hooks.fed = [this] { watch_->end(); };
  hooks.end = [this](const FrameReport& report) {
    watch_->out();
    watchdog_->is_alive();
    metrics_->frame_published(report.out_mono_ns, report.capture_mono_ns);
    metrics_->stage_took(static_cast<std::size_t>(Stage::kTake), report.taken_ns);
    metrics_->stage_took(static_cast<std::size_t>(Stage::kCompute), report.computed_ns);
    metrics_->stage_took(static_cast<std::size_t>(Stage::kControllers), report.published_ns);
    metrics_->stage_took(static_cast<std::size_t>(Stage::kOthers), report.others_ns);
    metrics_->shed_hops(report.shed_hops);
    summary_.add(report);
    if (report.has_input) {
      input_ns_ = report.out_mono_ns;
    }
    news_.add(report);
  };
  hooks.values = [this](std::span<const std::uint32_t> words) { input_watch_->count(words); };
  hooks.judge = [this](Frame& frame) {
    frame.flags |= input_watch_->doubts() ? kFlagDoubtfulInput : 0U;
    limits_.look(frame);
  };
  hooks.look = [this](const WindowView& view) {
    health_->look(view);
    search_->look(view);
  };
  hooks.restart = [this](const StreamStart& start) {
    health_->restart();
    news_.add(start);
  };
  hooks.fault = options_.fault;
  return hooks;
}

HealthTask::Hooks Daemon::health_hooks(const ArrayGeometry& geometry) {
  HealthTask::Hooks hooks;
  hooks.use = [this, geometry](const Masks& masks, std::uint64_t epoch) {
    boundary_.run([&] {
      if (options_.mask_fault) {
        options_.mask_fault();
      }
      engine_->use(masks, epoch);
    });
    const MicrophoneMask& mask = masks.front();
    const auto used =
        static_cast<std::uint32_t>(geometry.channels()) - static_cast<std::uint32_t>(mask.channels.size());
    const MicrophoneUse use{.fewest_used = used,
                            .most_used = used,
                            .microphones = static_cast<std::uint32_t>(geometry.channels()),
                            .masked = {mask.channels.begin(), mask.channels.end()},
                            .missing_information = mask.missing.largest()};
    const bool is_much = static_cast<double>(use.missing_information) > kMostMissingInformation;
    log_->log(is_much ? spdlog::level::warn : spdlog::level::info, "microphones_used", "microphones: {}", text_of(use));
  };
  hooks.report = [this, geometry](const health::Change& change, std::size_t bad) {
    log_->log(spdlog::level::warn, "microphones", "{}; {} bad in all", text_of(change, geometry), bad);
  };
  hooks.too_many = [this](std::size_t bad) {
    log_->log(spdlog::level::warn, "microphones_too_many",
              "{} microphones look bad, too many to be it: none of them is masked", bad);
  };
  return hooks;
}

/// Logs the endpoints of processors that are new in this epoch.
void Daemon::update_endpoints(const Epoch& epoch) {
  std::vector<std::string> names;
  for (std::size_t p = 1; p < epoch.engine->processors(); ++p) {
    names.push_back(epoch.engine->header(p).processor);
    if (std::find(logged_processors_.begin(), logged_processors_.end(), names.back()) != logged_processors_.end()) {
      continue;
    }
    if (ring_output_) {
      const auto first = socket_to_serve(settings_.daemon->publish.ring.socket, DaemonSettings::Ring::kFile);
      spdlog::info("frames of {} for controllers at {}", names.back(),
                   ring::socket_of_processor(first, names.back()).string());
    }
    if (zmq_output_) {
      spdlog::info("frames of {} for dashboards at {}", names.back(), zmq_output_->endpoint(p));
    }
  }
  logged_processors_ = std::move(names);
}

void Daemon::prepare_outputs(const Epoch& epoch) {
  for (std::size_t p = 0; p < epoch.engine->processors(); ++p) {
    if (ring_output_) {
      ring_output_->prepare(epoch.engine->header(p), beginning_of(epoch, p));
    }
    if (zmq_output_) {
      zmq_output_->prepare(epoch.engine->header(p), beginning_of(epoch, p));
    }
  }
}

void Daemon::free_unused_outputs() {
  if (ring_output_) {
    ring_output_->free_unused();
  }
  if (zmq_output_) {
    zmq_output_->free_unused();
  }
}

Configurator::Hooks Daemon::configurator_hooks() {
  Configurator::Hooks hooks;
  hooks.make = [this](const Settings& settings, std::uint64_t number) {
    const FrameWatch::Planning planning(*watch_, planning_limit_ns());
    return make_epoch(settings, input_, number, track_ids_);
  };
  hooks.install = [this](std::unique_ptr<Epoch> next) { return install(std::move(next)); };
  return hooks;
}

std::int64_t Daemon::planning_limit_ns() const {
  return static_cast<std::int64_t>(options_.configuration.reading_limit_s * static_cast<double>(kNsPerSecond));
}

std::unique_ptr<Epoch> Daemon::install(std::unique_ptr<Epoch> next) {
  const Settings settings = next->plan.settings;
  announce(*next);
  std::unique_ptr<Epoch> old;
  const auto swap = [&] {
    try {
      engine_->finish_late();  // before the outputs take frames of other sizes
      publisher_.begin(*next->engine, next->number);
      old = engine_->swap(std::move(next));
    } catch (...) {
      publisher_.begin(*engine_->epoch().engine, engine_->epoch().number);
      health_->prepare(engine_->epoch());
      throw;
    }
    limits_.use(std::move(engine_->epoch().limits));
    engine_->overload().set_limits(settings.daemon->overload);
    watch_->expect_first(planning_limit_ns());
  };
  try {
    prepare_outputs(*next);  // first: it may fail while nothing is changed yet
    search_->prepare(*next);
    health_->prepare(*next);  // last: only the engine's thread may give it the old epoch back
  } catch (...) {
    search_->prepare(engine_->epoch());
    free_unused_outputs();
    throw;
  }
  try {
    boundary_.run(swap);
  } catch (...) {
    search_->prepare(engine_->epoch());
    free_unused_outputs();
    throw;
  }
  log_run(engine_->epoch());
  free_unused_outputs();
  update_endpoints(engine_->epoch());
  frame_deadline_ms_ = settings.daemon->deadlines.frame_ms;
  watch_->set_deadline(nanoseconds(frame_deadline_ms_));
  control::set_log_level(settings.daemon->log.level);
  recording_->use(settings);
  return old;
}

/// Called between two hops.
void Daemon::begin_epoch(Recorder& recorder) const {
  const Epoch& epoch = engine_->epoch();
  for (std::size_t p = 0; p < epoch.engine->processors(); ++p) {
    recorder.begin(epoch.engine->header(p), beginning_of(epoch, p));
  }
}

void Daemon::install_recorder(Recorder* recorder) {
  boundary_.run([&] {
    if (recorder != nullptr) {
      begin_epoch(*recorder);
    }
    publisher_.set(Publisher::Priority::kRecorder, recorder);
    publisher_.set_bits(input_.form == InputForm::kBits ? recorder : nullptr);
  });
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
  const RoomKeeper::Account room = recording_->room();
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

void Daemon::start_threads() {
  const DaemonSettings& daemon = *settings_.daemon;
  frame_deadline_ms_ = daemon.deadlines.frame_ms;
  watch_ = std::make_unique<FrameWatch>(
      nanoseconds(frame_deadline_ms_), [this](std::int64_t age_ns) { return meet_hung_frame(age_ns); },
      stream_thread("nf-watch", daemon.realtime));
  watch_->expect_first(planning_limit_ns());
  engine_thread_ = std::jthread([this, prepare = stream_thread("nf-engine", daemon.realtime)] {
    prepare();
    Pacer::sleep_precisely();  // it wakes shortly before a hop's end is expected
    run_engine();
  });
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

void Daemon::run_engine() {
  try {
    while (!stop_) {
      const SourceState source = source_->state();  // before the step, which sees what the source did until then
      const LiveEngine::Step step = engine_->step(monotonic_ns() + kStopCheckNs);
      if (step == LiveEngine::Step::kNothing) {
        watchdog_->is_alive();  // it waits for bits
      }
      boundary_.pass();
      const bool no_stream_comes =
          !engine_->is_streaming() && (source == SourceState::kEnded || source == SourceState::kFailed);
      const bool enough = options_.frames > 0 && summary_.frames() >= options_.frames;
      if (enough || no_stream_comes || step == LiveEngine::Step::kEnded) {
        break;
      }
    }
    engine_->finish_late();
  } catch (const DeviceError& error) {
    end_process(ExitCode::kNoDevice, error.what());
  } catch (...) {
    engine_error_ = std::current_exception();
  }
  watch_->end();
  boundary_.close();
  engine_done_ = true;
}

void Daemon::run() {
  name_thread("nearfieldd");
  const std::int64_t begun_ns = monotonic_ns();
  input_ns_ = begun_ns;
  source_turns_ = control::TurnWatch(begun_ns);
  control_turns_ = control::TurnWatch(begun_ns);
  if (const std::uint64_t waiting = source_->discard_waiting(); waiting > 0) {
    spdlog::info("{}: {} datagrams came while programs were compiled; the stream begins with the next one", input_.name,
                 waiting);
  }
  source_->start([prepare = stream_thread("nf-source", settings_.daemon->realtime), fault = options_.source_fault] {
    prepare();
    if (fault) {
      fault();
    }
  });
  spdlog::info("{}: {:.0f} frames a second on {}", input_.name, hop_rate_hz_.load(),
               engine_->epoch().engine->header(0).device);
  service_.ready(fmt::format("{}, {:.0f} frames a second", input_.name, hop_rate_hz_.load()));
  for (std::int64_t now_ns = begun_ns; !is_over(begun_ns, now_ns); now_ns = monotonic_ns()) {
    handle_signals();
    do_housekeeping(now_ns);
  }
  service_.stopping(why_.empty() ? "done" : why_);
  stop();
  log_news();
  log_limits();
  if (engine_error_) {
    std::rethrow_exception(engine_error_);
  }
  if (source_->state() == SourceState::kFailed) {
    throw IoError(fmt::format("{}: {}", input_.name, source_->error()));
  }
}

bool Daemon::is_over(std::int64_t begun_ns, std::int64_t now_ns) const {
  const auto duration_ns = static_cast<std::int64_t>(options_.duration_s * static_cast<double>(kNsPerSecond));
  return stop_ || engine_done_ || (duration_ns > 0 && now_ns - begun_ns > duration_ns);
}

void Daemon::handle_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&wanted, signal);
  }
  const timespec period{.tv_sec = 0, .tv_nsec = kHousekeepingPeriodNs};
  const int signal = sigtimedwait(&wanted, nullptr, &period);
  if (signal == SIGHUP) {
    reload_aside();
  } else if (signal == SIGTERM || signal == SIGINT) {
    why_ = signal == SIGTERM ? "SIGTERM" : "SIGINT";
    spdlog::info("{}: stopping", why_);
    stop_ = true;
  }
}

/// Reloads on a separate thread, since planning takes long and the watchdog must be fed meanwhile.
void Daemon::reload_aside() {
  if (reloads_wanted_++ > 0) {
    return;  // the reload in progress may have read the old file: another follows it
  }
  reloader_ = std::jthread([this] {
    int wanted = 0;
    do {
      wanted = reloads_wanted_;
      service_.reloading();
      try {
        configurator_->reload();
      } catch (const std::exception& error) {
        spdlog::error("reload: the last good configuration goes on: {}", error.what());
      }
      service_.ready(fmt::format("{}, {:.0f} frames a second", input_.name, hop_rate_hz_.load()));
    } while (reloads_wanted_.fetch_sub(wanted) > wanted);
  });
}

void Daemon::do_housekeeping(std::int64_t now_ns) {
  if (kept_ns_ != 0 && now_ns - kept_ns_ > kHousekeepingLateNs) {
    input_ns_ = std::min(now_ns, input_ns_ + now_ns - kept_ns_);  // the source was not read meanwhile
  }
  kept_ns_ = now_ns;
  judge_input(now_ns);
  watch_input(now_ns);
  log_news();
  log_limits();
  if (watch_->is_planning()) {
    watchdog_->is_alive();
  }
  if (do_threads_turn(now_ns) && watchdog_->should_feed(now_ns)) {
    service_.feed_watchdog();
  }
  if (now_ns - counted_ns_ >= kCountNs) {
    counted_ns_ = now_ns;
    recording_->update(*metrics_);
    watch_web(now_ns);
    accounts_->update(source_->counters(), publisher_.counts(), recording_->status());
  }
  if (now_ns - ticked_ns_ >= kNsPerSecond) {
    ticked_ns_ = now_ns;
    metrics_->tick(now_ns);
    look_for_descriptors();
    log_->flush();
  }
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

/// Stops parts in reverse order of dependency.
void Daemon::stop() {
  if (configurator_) {
    configurator_->close();
  }
  if (source_) {
    source_->stop();
  }
  stop_ = true;
  if (engine_thread_.joinable()) {
    engine_thread_.join();
  }
  server_.reset();
  if (reloader_.joinable()) {
    reloader_.join();
  }
  const std::array workers = {health_worker_.get(), search_worker_.get()};
  for (control::Worker* worker : workers) {
    if (worker != nullptr) {
      worker->request_close();
    }
  }
  for (control::Worker* worker : workers) {
    if (worker != nullptr) {
      worker->close();
    }
  }
  if (recording_) {
    recording_->close();
  }
  watch_.reset();
  ring_output_.reset();
  zmq_output_.reset();
  if (web_ && !web_->ends_within(kWebTimeoutNs)) {  // last, so that nothing else is lost
    spdlog::shutdown();
    end_process(ExitCode::kInternal, "the thread that serves page and metrics hangs; all else has ended");
  }
  web_.reset();
}

nlohmann::json Daemon::summary() const {
  nlohmann::json summary = summary_.json(source_->counters(), hop_rate_hz_);
  for (const auto& [processor, device] : devices_of(*engine_->epoch().engine)) {
    summary["devices"][processor] = device;
  }
  return summary;
}

}  // namespace nearfield::daemon
