#include "stream/sources/playback_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "stream/sources/pacer.hpp"
#include "stream/sources/playback.hpp"

namespace nearfield {
namespace {

constexpr double kBlock_s = 170e-6;  ///< 256 bit-times, one packet
constexpr std::uint64_t kFastBlock = 4096;
constexpr std::int64_t kStopCheckNs = 20'000'000;

class PlaybackWorker : public SourceWorker {
 public:
  PlaybackWorker(Playback playback, IngestRing& ring, DaemonSettings::Pace pace, bool loop)
      : playback_(std::move(playback)), ring_(&ring), pace_(pace), loop_(loop), block_(block_elements()) {
    words_.resize(block_ * playback_.words_per_element());
  }

  void run(const std::stop_token& stop) override {
    Pacer::sleep_precisely();
    ring_->begin_stream(kStreamId, 0);
    const Pacer pacer(playback_.rate_hz());
    for (std::uint64_t first = 0; (loop_ || first < playback_.elements()) && goes_on(stop);) {
      const std::uint64_t count = loop_ ? block_ : std::min<std::uint64_t>(block_, playback_.elements() - first);
      const auto words = std::span(words_).first(count * playback_.words_per_element());
      playback_.read(first, words);
      const bool due = pace_ == DaemonSettings::Pace::kRealtime ? wait_until_due(pacer, first + count, stop)
                                                                : wait_for_room(count, stop);
      if (!due) {
        return;
      }
      ring_->store(first, std::as_bytes(words), monotonic_ns());
      first += count;
    }
  }

  void count(SourceCounters& /*counters*/) const override {}

 private:
  static constexpr std::uint32_t kStreamId = 1;

  [[nodiscard]] std::uint64_t block_elements() const {
    const double real_time = std::max(1.0, playback_.rate_hz() * kBlock_s);
    const std::uint64_t wanted =
        pace_ == DaemonSettings::Pace::kFast ? kFastBlock : static_cast<std::uint64_t>(real_time);
    return std::clamp<std::uint64_t>(ring_->settings().elements / 4, 1, wanted);
  }

  bool wait_until_due(const Pacer& pacer, std::uint64_t end, const std::stop_token& stop) {
    while (!pacer.wait_for(end)) {
      if (!goes_on(stop)) {
        return false;
      }
    }
    return true;
  }

  bool wait_for_room(std::uint64_t count, const std::stop_token& stop) {
    while (goes_on(stop)) {
      if (ring_->wait_for_room(count, monotonic_ns() + kStopCheckNs)) {
        return true;
      }
    }
    return false;
  }

  Playback playback_;
  IngestRing* ring_;
  DaemonSettings::Pace pace_;
  bool loop_;
  std::uint64_t block_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

void require_scene_without_tracks(const std::string& path) {
  if (const std::size_t tracks = load_scene(path).tracks.size(); tracks > 0) {
    throw ConfigError(fmt::format(
        "daemon.source.scene: expected a scene without recorded tracks, because nearfieldd reads no sound files, found "
        "{} in {}; set daemon.source.kind to udp, give array and holography.standoff_m the scene's values, and play it "
        "with nearfield send {} --loop",
        tracks, path, path));
  }
}

std::unique_ptr<Source> make_playback_source(const SourceSettings& settings) {
  const DaemonSettings::Source& source = settings.source;
  const bool scene = source.kind == DaemonSettings::SourceKind::kSimulate;
  if (scene) {
    require_scene_without_tracks(source.scene);
  }
  Playback playback = scene ? Playback::of_scene(source.scene)
                            : Playback::of_file(source.path, settings.pascal_per_unit, settings.channels);
  RingSettings sizes = ring_settings(settings);
  sizes.kind = playback.kind();
  sizes.words_per_element = playback.words_per_element();
  auto ring = std::make_unique<IngestRing>(sizes);
  const std::optional<CaptureInfo> capture = playback.capture();
  std::vector<std::string> warnings = playback.warnings();
  auto worker = std::make_unique<PlaybackWorker>(std::move(playback), *ring, source.pace, scene || source.loop);
  return std::make_unique<Source>(std::move(ring), std::move(worker), capture, std::move(warnings));
}

}  // namespace nearfield
