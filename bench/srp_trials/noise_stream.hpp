#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"

namespace nearfield::bench {

/// Noise of each microphone's own that goes on and on, through Hann's windows of kWindow samples that begin kStep
/// samples apart. Samples are uniform and white, of variance 1. A ring holds the transforms of the last window's four
/// steps, so that a window costs one step's transform:
///   X[k] = sum_b (-j)^(k b) B_b[k],     B_b[k] = sum_n x_b[n] e^{-j 2 pi k n / kWindow}
/// and Hann's window is X[k]/2 - (X[k-1] + X[k+1])/4.
class NoiseStream {
 public:
  static constexpr std::size_t kWindow = 1024;
  static constexpr std::size_t kStep = 256;
  static constexpr std::size_t kSteps = kWindow / kStep;

  /// Of `bins` bins of a window from `first_bin` on, which is 1 at least.
  NoiseStream(std::size_t channels, std::size_t first_bin, std::size_t bins, std::uint64_t seed);
  /// Spectra of the next window [bin][channel], of mean power 1.
  std::span<const std::complex<float>> next();
  /// Samples of the last step [sample][channel].
  [[nodiscard]] std::span<const float> last_step() const { return samples_; }

 private:
  void add_step();
  std::size_t channels_;
  std::size_t first_bin_;  ///< of the ring: one before those of the window
  std::size_t bins_;       ///< of the ring
  RandomStream random_;
  std::vector<float> turns_;    ///< [bin][cosine, minus sine][sample of a step]
  std::vector<float> samples_;  ///< [sample][channel]
  /// [step][bin][real, imaginary][channel]; the oldest step stands at `oldest_`.
  std::array<std::vector<float>, kSteps> ring_;
  std::size_t oldest_ = 0;
  std::vector<std::complex<float>> whole_;  ///< [bin][channel], X
  std::vector<std::complex<float>> spectra_;
};

}  // namespace nearfield::bench
