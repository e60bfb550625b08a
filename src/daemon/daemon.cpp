#include "daemon/daemon.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "cl/device.hpp"
#include "config/config.hpp"
#include "config/load_yaml.hpp"
#include "config/premises.hpp"
#include "control/checks/check.hpp"
#include "control/metrics/metrics.hpp"
#include "control/service/worker.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "core/system/memory.hpp"
#include "core/system/threads.hpp"
#include "daemon/device_check.hpp"
#include "daemon/signals.hpp"
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

/// Longest time that the end of the process waits for a thread that hangs.
constexpr std::int64_t kWebTimeoutNs = 2 * kNsPerSecond;

void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

/// Sets the real-time priority of a thread of the stream; the main thread has logged already if it is not permitted.
std::function<void()> stream_thread(const char* name, const DaemonSettings::Realtime& realtime) {
  return [name, realtime] {
    name_thread(name);
    give_signal_stack();
    control::apply_realtime(realtime);
  };
}

/// Ends the process if a device fails, like the engine's thread. After other errors what was in effect stays.
void end_at_device_error(const std::exception& error) {
  if (const auto* const of_device = dynamic_cast<const DeviceError*>(&error); of_device != nullptr) {
    end_process(of_device->exit_code(), of_device->what());
  }
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
  control::log_warnings(control::apply_realtime(settings_.daemon->realtime));
  control::log_warnings(control::exposure_warnings(*settings_.daemon));
  require_memory(needs_of_source(settings_), free_memory({}));
  ocl::DriverAccount driver_account;
  (void)ocl::Device::open(settings_.device);  // throws before a scene's bits are made, which takes up to minutes
  source_ = make_source(source_settings(settings_));
  control::log_warnings(source_->warnings());
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
      if (enough || no_stream_comes) {
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
    give_signal_stack();
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

}  // namespace nearfield::daemon
