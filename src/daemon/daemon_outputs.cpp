#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "config/config.hpp"
#include "control/metrics/metrics.hpp"
#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"
#include "core/system/files.hpp"
#include "daemon/daemon.hpp"
#include "engine/microphone_watch.hpp"

namespace nearfield::daemon {
namespace {

Beginning beginning_of(const Epoch& epoch, std::size_t processor) {
  return {.processor = processor, .epoch = epoch.number};
}

}  // namespace

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
    publisher_.set_bits(recorder);
  });
}

}  // namespace nearfield::daemon
