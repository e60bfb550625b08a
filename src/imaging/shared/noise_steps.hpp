#pragma once
#include <cmath>

namespace nearfield {

/// Noise powers of a microphone at which the marginal likelihood is evaluated, over the mean power of the prior's
/// field: 70 dB below it and up. [kNoiseSteps]
inline constexpr int kNoiseSteps = 48;
inline constexpr double kLeastNoise = 1e-7;
inline constexpr double kNoiseRatio = 1.5;  ///< from one step to the next
inline double noise_step(int step) { return kLeastNoise * std::pow(kNoiseRatio, step); }
/// The step nearest to a noise power.
inline int step_of_noise(double noise) {
  return static_cast<int>(std::lround(std::log(noise / kLeastNoise) / std::log(kNoiseRatio)));
}

}  // namespace nearfield
