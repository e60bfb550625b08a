#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "simulate/scene.hpp"

namespace nearfield {

/// Plays recordings through point sources to every microphone.
class TrackPlayer {
 public:
  /// Loads the scene's recordings. Throws ConfigError when it has some and there is no loader, and what the loader
  /// throws.
  TrackPlayer(const Scene& scene, double full_scale_pa, const TrackLoader& load_track);

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
