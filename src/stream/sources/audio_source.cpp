#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "audio/capture.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/sources/capture_clock.hpp"
#include "stream/sources/live_sources.hpp"

namespace nearfield {
namespace {

constexpr int kWaitMs = 20;
/// Pause between two attempts to open a device that has gone.
constexpr std::int64_t kLookNs = 500 * kNsPerMillisecond;
/// A device that delivers nothing for so long has gone: some drivers do not say it.
constexpr std::int64_t kStandstillNs = 2 * kNsPerSecond;

audio::CaptureSettings capture_settings(const SourceSettings& settings) {
  return {.device = settings.source.device,
          .sample_rate_hz = settings.source.sample_rate_hz.value_or(0.0),
          .microphones = static_cast<int>(settings.words_per_element),
          .channels = settings.channels,
          .period_s = settings.period_s};
}

class AudioWorker : public SourceWorker {
 public:
  AudioWorker(std::unique_ptr<audio::Capture> capture, IngestRing& ring, const audio::CaptureSettings& settings)
      : settings_(settings), ring_(&ring), capture_(std::move(capture)), clock_(settings.sample_rate_hz) {}

  void run(const std::stop_token& stop) override {
    while (goes_on(stop)) {
      if (!capture_ && !open_again()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMs));
        continue;
      }
      try {
        const std::int64_t begun_ns = monotonic_ns();
        const audio::Capture::Samples samples = capture_->read(kWaitMs);
        samples.values.empty() ? idle(monotonic_ns() - begun_ns) : take(samples, stop);
      } catch (const NoInputError&) {
        end();
      }
    }
  }

  void count(SourceCounters& counters) const override {
    counters.overruns = overruns_.load(std::memory_order_relaxed);
    counters.absences = absences_.load(std::memory_order_relaxed);
  }

 private:
  /// A read that brought nothing took so long; a pause of this process is no part of it.
  void idle(std::int64_t waited_ns) {
    if (waited_ns < kNsPerMillisecond) {  // the driver did not wait
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    idle_ns_ += std::clamp(waited_ns, kNsPerMillisecond, 2 * kWaitMs * kNsPerMillisecond);
    if (idle_ns_ > kStandstillNs) {
      end();
    }
  }

  void take(const audio::Capture::Samples& samples, const std::stop_token& stop) {
    const std::uint64_t count = samples.values.size() / static_cast<std::size_t>(settings_.microphones);
    idle_ns_ = 0;
    if (!streaming_) {
      begin(stop);
    }
    if (const std::uint64_t lost = clock_.lost_before(count, samples.newest_ns, samples.follows_an_overrun); lost > 0) {
      overruns_.fetch_add(1, std::memory_order_relaxed);
      next_sample_ += lost;
    }
    ring_->store(next_sample_, std::as_bytes(samples.values), samples.newest_ns);
    next_sample_ += count;
  }

  /// Begins a stream. The reader may be copying what its start would overwrite, which takes a moment.
  void begin(const std::stop_token& stop) {
    while (!ring_->begin_stream(stream_id_, 0) && goes_on(stop)) {
      std::this_thread::yield();
    }
    streaming_ = true;
    next_sample_ = 0;
    clock_.begin();
    ++stream_id_;
  }

  void end() {
    capture_.reset();
    if (streaming_) {
      absences_.fetch_add(1, std::memory_order_relaxed);
      ring_->end_stream();
      streaming_ = false;
    }
  }

  bool open_again() {
    const std::int64_t now_ns = monotonic_ns();
    if (now_ns < look_ns_) {
      return false;
    }
    look_ns_ = now_ns + kLookNs;
    idle_ns_ = 0;
    try {
      capture_ = std::make_unique<audio::Capture>(settings_);
    } catch (const Error&) {  // also where it is there, but has not its rate and channels yet
      return false;
    }
    return true;
  }

  const audio::CaptureSettings settings_;
  IngestRing* ring_;
  std::unique_ptr<audio::Capture> capture_;
  CaptureClock clock_;
  bool streaming_ = false;
  std::uint32_t stream_id_ = 1;
  std::uint64_t next_sample_ = 0;
  std::int64_t idle_ns_ = 0;  ///< waited for nothing since something came
  std::int64_t look_ns_ = 0;  ///< when a device that has gone is looked for
  std::atomic<std::uint64_t> overruns_{0};
  std::atomic<std::uint64_t> absences_{0};
};

}  // namespace

std::unique_ptr<Source> make_audio_source(const SourceSettings& settings) {
  const audio::CaptureSettings wanted = capture_settings(settings);
  auto ring = std::make_unique<IngestRing>(ring_settings(settings));
  auto capture = std::make_unique<audio::Capture>(wanted);
  auto worker = std::make_unique<AudioWorker>(std::move(capture), *ring, wanted);
  return std::make_unique<Source>(std::move(ring), std::move(worker), std::nullopt, std::vector<std::string>{});
}

}  // namespace nearfield
