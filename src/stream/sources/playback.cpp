#include "stream/sources/playback.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <numbers>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "files/sample_levels.hpp"

namespace nearfield {
namespace {

constexpr std::uint64_t kShortestLoop = std::uint64_t{1} << 17U;
constexpr std::uint64_t kLongestLoop = std::uint64_t{1} << 18U;
constexpr std::uint64_t kLoopStep = 64;
constexpr double kAudibleJumpRad = 0.02;  // -34 dB relative to the tone, once per loop

/// Checks that a scene's bits, which are held in memory while it plays, fit.
void require_to_fit(const Scene& scene, std::uint64_t bit_times, const std::filesystem::path& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31U;
  const auto words = static_cast<std::uint64_t>(words_per_bit_time(scene.layout, scene.measurement.geometry));
  const std::uint64_t most = kMostBytes / sizeof(std::uint32_t) / words;
  if (bit_times > most) {
    throw ConfigError(
        fmt::format("{}: duration_s: expected at most {:.4g} s of a scene that is played whole from memory, because it "
                    "has sources that move, of noise, or of recordings; found {:.6g} s. Play a capture of it, made by "
                    "nearfield simulate",
                    path.string(), static_cast<double>(most) / kBitRateHz, scene.duration_s));
  }
}

bool is_scene(const std::filesystem::path& path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }

}  // namespace

double seam_jump_rad(const Scene& scene, std::uint64_t bit_times) {
  double largest = 0.0;
  for (const ToneSource& tone : scene.tones) {
    if (!tone.motion.empty()) {
      continue;
    }
    const double periods = tone.frequency_hz * static_cast<double>(bit_times) / kBitRateHz;
    largest = std::max(largest, std::abs(periods - std::round(periods)));
  }
  return 2.0 * std::numbers::pi * largest;
}

std::uint64_t loop_bit_times(const Scene& scene) {
  if (scene.changes()) {
    return std::max<std::uint64_t>(
        kLoopStep, static_cast<std::uint64_t>(std::llround(scene.duration_s * kBitRateHz)) / kLoopStep * kLoopStep);
  }
  std::uint64_t best = kShortestLoop;
  for (std::uint64_t length = kShortestLoop; length <= kLongestLoop; length += kLoopStep) {
    constexpr double kNoBetterRad = 1e-6;
    if (seam_jump_rad(scene, length) < seam_jump_rad(scene, best) - kNoBetterRad) {
      best = length;
    }
  }
  return best;
}

Playback Playback::of(const std::filesystem::path& path, const TrackLoader& load_track,
                      std::optional<double> pascal_per_unit) {
  if (is_scene(path)) {
    (void)pascal_per_unit_for(pascal_per_unit, path.string(), true);
    return of_scene(path, load_track);
  }
  return of_file(path, pascal_per_unit);
}

Playback Playback::of_file(const std::filesystem::path& path, std::optional<double> pascal_per_unit,
                           const std::vector<int>& channels) {
  Playback playback;
  const FileKind kind = detect_file_kind(path);
  if (kind == FileKind::kCapture) {
    (void)pascal_per_unit_for(pascal_per_unit, path.string(), true);
    playback.open_capture(path);
  } else if (kind == FileKind::kTimeData || kind == FileKind::kRecording) {  // a recording of bits is refused there
    playback.open_time_data(path, pascal_per_unit, channels);
  } else {
    throw DataError(
        fmt::format("{}: expected a capture or time data, found a file of {}", path.string(), name_of(kind)));
  }
  if (playback.elements_ == 0) {
    throw DataError(fmt::format("{}: expected at least one bit-time or sample, found none", path.string()));
  }
  playback.hold_whole();
  return playback;
}

Playback Playback::of_scene(const std::filesystem::path& path, const TrackLoader& load_track) {
  Scene scene = load_scene(path);
  Playback playback;
  playback.elements_ = loop_bit_times(scene);
  require_to_fit(scene, playback.elements_, path);
  scene.duration_s = static_cast<double>(playback.elements_) / kBitRateHz;  // gives noise a whole number of periods
  const WordsCallback append = [&playback](std::span<const std::uint32_t> words) {
    playback.words_.insert(playback.words_.end(), words.begin(), words.end());
  };
  const SimulationReport report = synthesize_scene(scene, playback.elements_, append, load_track);
  playback.words_per_element_ = playback.words_.size() / playback.elements_;
  playback.rate_hz_ = kBitRateHz;
  playback.capture_ = CaptureInfo{.measurement = scene.measurement,
                                  .layout = scene.layout,
                                  .sample_rate_hz = kBitRateHz,
                                  .start_time_ns = scene.start_time_ns,
                                  .bit_times = playback.elements_,
                                  .words_per_bit_time = static_cast<int>(playback.words_per_element_)};
  playback.warnings_ = report.warnings;
  if (const std::size_t moving = scene.moving_sources(); moving > 0) {
    playback.warnings_.push_back(
        fmt::format("{}: {} source{} move{} from the end of the path back to where it was at the "
                    "beginning every {} bit-times, where the scene begins again",
                    path.string(), moving, moving == 1 ? "" : "s", moving == 1 ? "s" : "", playback.elements_));
  }
  if (const double jump_rad = seam_jump_rad(scene, playback.elements_); jump_rad > kAudibleJumpRad) {
    playback.warnings_.push_back(
        fmt::format("{}: a tone's phase jumps by {:.2f} rad every {} bit-times, where the scene "
                    "begins again",
                    path.string(), jump_rad, playback.elements_));
  }
  return playback;
}

void Playback::open_capture(const std::filesystem::path& path) {
  capture_reader_.emplace(path);
  capture_ = capture_reader_->info();
  kind_ = PayloadKind::kBits;
  elements_ = capture_->bit_times;
  words_per_element_ = static_cast<std::size_t>(capture_->words_per_bit_time);
  rate_hz_ = capture_->sample_rate_hz;
}

void Playback::open_time_data(const std::filesystem::path& path, std::optional<double> pascal_per_unit,
                              const std::vector<int>& channels) {
  time_data_reader_.emplace(path, channels);
  if (const std::optional<double> unit_pa =
          pascal_per_unit_for(pascal_per_unit, path.string(), time_data_reader_->states_pascal())) {
    time_data_reader_->set_pascal_per_unit(*unit_pa);
  }
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 22U;  // short check before the stream begins
  for (const std::string& warning :
       {time_data_reader_->note(), doubt_about(levels_of(*time_data_reader_, kMostValues))}) {
    if (!warning.empty()) {
      warnings_.push_back(fmt::format("{}: {}", path.string(), warning));
    }
  }
  kind_ = PayloadKind::kSamples;
  elements_ = time_data_reader_->samples();
  words_per_element_ = static_cast<std::size_t>(time_data_reader_->channels());
  rate_hz_ = time_data_reader_->sample_rate_hz();
}

void Playback::hold_whole() {
  if (elements_ > kWholeBytes / sizeof(std::uint32_t) / words_per_element_) {
    return;
  }
  words_.resize(elements_ * words_per_element_);
  read_file(0, words_);
  capture_reader_.reset();
  time_data_reader_.reset();
}

void Playback::read(std::uint64_t first, std::span<std::uint32_t> words) const {
  first %= elements_;
  while (!words.empty()) {
    const std::size_t there = (elements_ - first) * words_per_element_;
    const auto part = words.first(std::min(words.size(), there));
    if (words_.empty()) {
      read_file(first, part);
    } else {
      std::copy_n(words_.data() + first * words_per_element_, part.size(), part.begin());
    }
    words = words.subspan(part.size());
    first = 0;
  }
}

void Playback::read_file(std::uint64_t first, std::span<std::uint32_t> words) const {
  if (capture_reader_) {
    capture_reader_->read(first, words);
    return;
  }
  std::vector<float> values(words.size());
  time_data_reader_->read(first, values);
  std::memcpy(words.data(), values.data(), words.size_bytes());
}

Pacer::Pacer(double rate_hz) : rate_hz_(rate_hz), start_ns_(monotonic_ns()) {}

void Pacer::sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

bool Pacer::wait_for(std::uint64_t count) const {
  constexpr std::int64_t kLongestNs = 20'000'000;
  // Doubles hold a month of nanoseconds to better than a microsecond.
  const std::int64_t due_ns = start_ns_ + std::llround(static_cast<double>(count) / rate_hz_ * kNsPerSecond);
  const std::int64_t until_ns = std::min(due_ns, monotonic_ns() + kLongestNs);
  const timespec until{until_ns / kNsPerSecond, until_ns % kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // a signal may end it early
  return monotonic_ns() >= due_ns;
}

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
