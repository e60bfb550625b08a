#include "simulate/points/point_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.hpp"

namespace nearfield {
namespace {

/// First random stream for the phases of noise; those for microphones' responses are below.
constexpr std::uint64_t kNoisePhaseStream = std::uint64_t{4} << 20U;

/// Channels computed together, so that their sums stay in the first-level caches.
constexpr std::size_t kTileChannels = 8;

/// Times of samples.
struct SampleTimes {
  std::int64_t first;
  double rate_hz;
  std::size_t count;
  [[nodiscard]] double of(std::size_t sample) const {
    return static_cast<double>(first + static_cast<std::int64_t>(sample)) / rate_hz;
  }
};

/// Adds the sound of a path to one lane of a tile [sample][lane].
template <typename Signal>
void add_from_path(const Path& path, const Point& place, double factor, double sound_speed_m_s, const Signal& signal,
                   const SampleTimes& times, double* lane) {
  RetardedPath retarded(path, place, sound_speed_m_s, times.of(0));
  if (path.size() == 1) {
    const Emission emission = retarded.at(0.0);
    for (std::size_t i = 0; i < times.count; ++i) {
      lane[i * kTileChannels] += factor / emission.distance_m * signal.at(times.of(i) - emission.delay_s);
    }
    return;
  }
  for (std::size_t i = 0; i < times.count; ++i) {
    const double t_s = times.of(i);
    const Emission emission = retarded.at(t_s);
    lane[i * kTileChannels] += factor / emission.distance_m * signal.at(t_s - emission.delay_s);
  }
}

/// The source's pressure times distance, Pa m.
std::complex<double> amplitude_pa_m(const Monopole& monopole, const Tonal& tonal) {
  return std::complex<double>(0.0, tonal.angular_frequency_rad_per_s() * tonal.medium.density_kg_m3) *
         monopole.volume_velocity_m3_s / (4 * std::numbers::pi);
}

}  // namespace

double PointPlayer::Tone::at(double t_s) const {
  const double cycles = frequency_hz * t_s;
  const double angle = 2 * std::numbers::pi * (cycles - std::floor(cycles));
  return amplitude_pa_m.real() * std::cos(angle) - amplitude_pa_m.imag() * std::sin(angle);
}

PointPlayer::PointPlayer(const Scene& scene, const TrackLoader& load_track)
    : images_(images_of(scene.room)),
      microphones_(microphones_of(scene)),
      sound_speed_m_s_(scene.medium.sound_speed_m_s) {
  if (!scene.tracks.empty() && !load_track) {
    throw ConfigError(
        fmt::format("sources: expected none of kind track, because this program reads no sound files, found {}",
                    scene.tracks.size()));
  }
  for (const ToneSource& tone : scene.tones) {
    if (!tone.motion.empty()) {
      const Tonal tonal{tone.frequency_hz, scene.medium};
      emitters_.push_back(
          {tone.motion, 1.0, Tone{tone.frequency_hz, amplitude_pa_m(std::get<Monopole>(tone.shape), tonal)}});
    }
  }
  for (const TrackSource& track : scene.tracks) {
    emitters_.push_back(
        {path_of(track), track.pressure_at_1m_pa, SignalTable(load_track(track.path), kBitRateHz, false)});
  }
  std::uint64_t stream = kNoisePhaseStream;
  for (const NoiseSource& noise : scene.noises) {
    emitters_.push_back(
        {path_of(noise), noise.rms_at_1m_pa,
         make_noise(noise_lines(noise.band_hz, noise_period_s(scene.duration_s)), scene.seed, stream++)});
  }
  for (const std::complex<double>& response : microphone_responses(scene)) {
    gains_.push_back(std::abs(response));
  }
}

void PointPlayer::play(std::int64_t first, double rate_hz, std::span<float> values) const {
  const std::size_t channels = microphones_.size();
  const SampleTimes times{.first = first, .rate_hz = rate_hz, .count = values.size() / channels};
  std::vector<double> tile(times.count * kTileChannels);
  for (std::size_t begin = 0; begin < channels; begin += kTileChannels) {
    const std::size_t lanes = std::min(kTileChannels, channels - begin);
    std::fill(tile.begin(), tile.end(), 0.0);
    for (const Emitter& emitter : emitters_) {
      for (const Image& image : images_) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const Point place = image.seen_from(microphones_[begin + lane]);
          const double factor = emitter.factor * image.factor * gains_[begin + lane];
          std::visit(
              [&](const auto& signal) {
                add_from_path(emitter.path, place, factor, sound_speed_m_s_, signal, times, tile.data() + lane);
              },
              emitter.signal);
        }
      }
    }
    for (std::size_t i = 0; i < times.count; ++i) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        values[i * channels + begin + lane] = static_cast<float>(tile[i * kTileChannels + lane]);
      }
    }
  }
}

}  // namespace nearfield
