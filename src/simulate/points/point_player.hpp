#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "simulate/points/paths.hpp"
#include "simulate/points/signal.hpp"
#include "simulate/scene.hpp"

namespace nearfield {

/// Plays the scene's point sources that are generated in the time domain, moving ones and those of noise and
/// recordings, to every microphone: p(t) = sum over images of factor s(t_e)/(c (t - t_e)), with t_e the retarded time.
class PointPlayer {
 public:
  /// Loads the scene's recordings and makes its noise. Throws ConfigError when it has recordings and there is no
  /// loader; rethrows the loader's exceptions.
  PointPlayer(const Scene& scene, const TrackLoader& load_track);

  [[nodiscard]] bool empty() const { return emitters_.empty(); }

  /// values [sample][channel], Pa times the microphone's gain, for samples from `first` on at `rate_hz`; sample 0 is at
  /// time 0.
  void play(std::int64_t first, double rate_hz, std::span<float> values) const;

 private:
  struct Tone {
    double frequency_hz;
    std::complex<double> amplitude_pa_m;
    [[nodiscard]] double at(double t_s) const;
  };
  struct Emitter {
    Path path;
    double factor;  ///< factor of the signal, Pa m
    std::variant<Tone, SignalTable> signal;
  };

  std::vector<Emitter> emitters_;
  std::vector<Image> images_;
  std::vector<Point> microphones_;
  std::vector<double> gains_;  ///< [channel]
  double sound_speed_m_s_;
};

}  // namespace nearfield
