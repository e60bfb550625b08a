#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/scene.hpp"

namespace nearfield {

/// Plays recordings through point sources to every microphone.
class TrackPlayer {
 public:
  /// Reads the recordings and brings them to the bit rate. Throws NoInputError when one is missing, DataError when one
  /// is not a sound file.
  TrackPlayer(const std::vector<TrackSource>& tracks, const MeasurementGeometry& measurement, double sound_speed_m_s,
              double full_scale_pa);

  /// samples [bit-time][channel], full scale 1, for `count` bit-times; empty when there are no tracks.
  void play(std::uint64_t first_bit_time, std::size_t count, std::vector<float>& samples) const;

 private:
  /// One recording at one microphone.
  struct Path {
    double delay_bits;
    double gain;
  };
  struct Track {
    std::vector<float> recording;  ///< at the bit rate
    std::vector<Path> paths;       ///< [channel]
  };
  std::size_t channels_;
  std::vector<Track> tracks_;
};

}  // namespace nearfield
