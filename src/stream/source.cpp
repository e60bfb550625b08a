#include "stream/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/live_samples.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/sources/live_sources.hpp"
#include "stream/sources/playback.hpp"

namespace nearfield {
namespace {

std::uint64_t elements_of(std::int64_t bit_times, std::uint64_t bit_times_per_element) {
  return (static_cast<std::uint64_t>(bit_times) + bit_times_per_element - 1) / bit_times_per_element;
}

}  // namespace

RingSettings ring_settings(const SourceSettings& settings) {
  const DaemonSettings::Source& source = settings.source;
  return {.kind = takes_live_samples(source) ? PayloadKind::kSamples : PayloadKind::kBits,
          .words_per_element = settings.words_per_element,
          .elements = std::max(elements_of(source.ring_bit_times, settings.bit_times_per_element),
                               settings.least_ring_elements),
          .reorder_elements = elements_of(source.reorder_bit_times, settings.bit_times_per_element)};
}

IntakeSettings intake_settings(const DaemonSettings::Source& source, std::uint64_t bit_times_per_element) {
  IntakeSettings intake{.allowed_from = {},
                        .require_crc = source.require_crc,
                        .max_jump_elements = elements_of(source.max_jump_bit_times, bit_times_per_element),
                        .takeover_after_ns = nanoseconds(source.takeover_after_ms),
                        .restart_hold_off_ns = nanoseconds(source.restart_hold_off_ms)};
  for (const std::string& text : source.allowed_from) {
    const std::optional<Network> network = parse_network(text);
    if (!network) {
      throw ConfigError(fmt::format("daemon.source.allowed_from: expected addresses and networks, found \"{}\"", text));
    }
    intake.allowed_from.push_back(*network);
  }
  return intake;
}

Source::Source(std::unique_ptr<IngestRing> ring, std::unique_ptr<SourceWorker> worker,
               const std::optional<CaptureInfo>& capture, std::vector<std::string> warnings)
    : ring_(std::move(ring)), worker_(std::move(worker)), capture_(capture), warnings_(std::move(warnings)) {}

Source::~Source() = default;

void Source::start(std::function<void()> prepare_thread) {
  state_ = SourceState::kRunning;
  thread_ =
      std::jthread([this, prepare = std::move(prepare_thread)](const std::stop_token& stop) { run(stop, prepare); });
}

void Source::run(const std::stop_token& stop, const std::function<void()>& prepare_thread) {
  SourceState end = SourceState::kEnded;
  try {
    if (prepare_thread) {
      prepare_thread();
    }
    worker_->run(stop);
  } catch (const std::exception& error) {
    const std::lock_guard lock(error_mutex_);
    error_ = error.what();
    end = SourceState::kFailed;
  }
  state_ = end;  // before the ring's end, so that a thread that sees the end finds the reason
  ring_->end_stream();
}

void Source::stop() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::string Source::error() const {
  const std::lock_guard lock(error_mutex_);
  return error_;
}

SourceCounters Source::counters() const {
  SourceCounters counters;
  counters.ring = ring_->counters();
  worker_->count(counters);
  return counters;
}

std::unique_ptr<Source> make_source(const SourceSettings& settings) {
  if (settings.words_per_element == 0 || settings.words_per_element > kMaxSide * kMaxSide) {
    throw ConfigError(fmt::format("source.words_per_element: expected 1 to {}, found {}", kMaxSide * kMaxSide,
                                  settings.words_per_element));
  }
  switch (settings.source.kind) {
    case DaemonSettings::SourceKind::kUdp:
      return make_udp_source(settings);
    case DaemonSettings::SourceKind::kPipe:
      return make_pipe_source(settings);
    case DaemonSettings::SourceKind::kAudio:
      return make_audio_source(settings);
    case DaemonSettings::SourceKind::kFile:
    case DaemonSettings::SourceKind::kSimulate:
      return make_playback_source(settings);
  }
  throw Error(ExitCode::kInternal, "source: unknown kind");
}

}  // namespace nearfield
