#include "simulate/tracks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nearfield/error.hpp"

namespace nearfield {
namespace {

/// The recording between its samples: the cubic through the four nearest; silence beyond the ends. At 1.5 MHz a tone of
/// 20 kHz turns by 0.084 rad a sample, and the cubic's error is about 0.02 * 0.084^4 = 1e-6.
double interpolate(const std::vector<float>& recording, double position) {
  const double whole = std::floor(position);
  const double x = position - whole;
  const auto at = [&](double offset) {
    const double index = whole + offset;
    const bool inside = index >= 0 && index < static_cast<double>(recording.size());
    return inside ? static_cast<double>(recording[static_cast<std::size_t>(index)]) : 0.0;
  };
  return at(-1) * (-x * (x - 1) * (x - 2) / 6) + at(0) * ((x + 1) * (x - 1) * (x - 2) / 2) +
         at(1) * (-(x + 1) * x * (x - 2) / 2) + at(2) * ((x + 1) * x * (x - 1) / 6);
}

}  // namespace

TrackPlayer::TrackPlayer(const Scene& scene, double full_scale_pa, const TrackLoader& load_track)
    : channels_(static_cast<std::size_t>(scene.measurement.geometry.channels())) {
  if (!scene.tracks.empty() && !load_track) {
    throw ConfigError(
        fmt::format("sources: expected none of kind track, because this program reads no sound files, found {}",
                    scene.tracks.size()));
  }
  const ArrayGeometry& geometry = scene.measurement.geometry;
  for (const TrackSource& source : scene.tracks) {
    Track track{load_track(source.path), {}};
    for (int row = 0; row < geometry.rows; ++row) {
      for (int column = 0; column < geometry.columns; ++column) {
        const double r = std::hypot(geometry.x_m(column) - source.position.x_m, geometry.y_m(row) - source.position.y_m,
                                    scene.measurement.standoff_m - source.position.z_m);
        track.paths.push_back(
            {r / scene.medium.sound_speed_m_s * kBitRateHz, source.pressure_at_1m_pa / r / full_scale_pa});
      }
    }
    tracks_.push_back(std::move(track));
  }
}

void TrackPlayer::play(std::uint64_t first_bit_time, std::size_t count, std::vector<float>& samples) const {
  samples.assign(tracks_.empty() ? 0 : count * channels_, 0.0F);
  for (const Track& track : tracks_) {
    for (std::size_t i = 0; i < count; ++i) {
      const double now = static_cast<double>(first_bit_time + i);
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        const Path& path = track.paths[channel];
        samples[i * channels_ + channel] +=
            static_cast<float>(path.gain * interpolate(track.recording, now - path.delay_bits));
      }
    }
  }
}

}  // namespace nearfield
