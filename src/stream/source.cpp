#include "stream/source.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "nearfield/error.hpp"
#include "stream/pipe_source.hpp"
#include "stream/playback_source.hpp"
#include "stream/udp_source.hpp"

namespace nearfield {
namespace {

constexpr std::array<std::pair<SourceKind, std::string_view>, 4> kKinds{{{SourceKind::kUdp, "udp"},
                                                                         {SourceKind::kPipe, "pipe"},
                                                                         {SourceKind::kFile, "file"},
                                                                         {SourceKind::kScene, "scene"}}};
constexpr std::array<std::pair<Pace, std::string_view>, 2> kPaces{
    {{Pace::kRealTime, "real-time"}, {Pace::kFast, "fast"}}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) {
      return name;
    }
  }
  return "?";
}

}  // namespace

std::string_view name_of(SourceKind kind) { return name_in(kKinds, kind); }
std::string_view name_of(Pace pace) { return name_in(kPaces, pace); }

SourceKind source_kind_of(std::string_view name) {
  for (const auto& [kind, text] : kKinds) {
    if (text == name) {
      return kind;
    }
  }
  throw ConfigError(fmt::format("source.kind: expected udp, pipe, file or scene, found \"{}\"", name));
}

Pace pace_of(std::string_view name) {
  for (const auto& [pace, text] : kPaces) {
    if (text == name) {
      return pace;
    }
  }
  throw ConfigError(fmt::format("source.pace: expected real-time or fast, found \"{}\"", name));
}

RingSettings ring_settings(const SourceSettings& settings) {
  return {.kind = settings.payload,
          .words_per_element = settings.words_per_element,
          .elements = settings.ring_elements,
          .reorder_elements = settings.reorder_elements};
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
  state_ = end;  // before the ring's end, so that who sees that finds the reason
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
  switch (settings.kind) {
    case SourceKind::kUdp:
      return make_udp_source(settings);
    case SourceKind::kPipe:
      return make_pipe_source(settings);
    case SourceKind::kFile:
    case SourceKind::kScene:
      return make_playback_source(settings);
  }
  throw Error(ExitCode::kInternal, "source: unknown kind");
}

}  // namespace nearfield
