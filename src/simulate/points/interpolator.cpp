#include "simulate/points/interpolator.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nearfield {
namespace {

constexpr std::size_t kReach = 17;                                   // inputs per output
constexpr std::size_t kDelayInputs = kReach / 2;                     // delay of the filter
constexpr std::size_t kHalf = kDelayInputs * Interpolator::kFactor;  // the filter has 2 kHalf + 1 coefficients

/// Kaiser's window for 120 dB (J. Kaiser, 1974): beta = 0.1102 (120 - 8.7).
constexpr double kBeta = 12.265;

/// Low-pass with its cut-off at half the input rate, sum 8.
double coefficient(double offset) {
  const double x = std::numbers::pi * offset / static_cast<double>(Interpolator::kFactor);
  const double sinc = offset == 0.0 ? 1.0 : std::sin(x) / x;
  const double share = offset / static_cast<double>(kHalf + 1);
  return sinc * std::cyl_bessel_i(0.0, kBeta * std::sqrt(1 - share * share)) / std::cyl_bessel_i(0.0, kBeta);
}

std::vector<float> make_taps() {
  std::vector<float> taps(Interpolator::kFactor * kReach, 0.0F);
  for (std::size_t phase = 0; phase < Interpolator::kFactor; ++phase) {
    for (std::size_t age = 0; age < kReach; ++age) {
      const std::size_t index = age * Interpolator::kFactor + phase;
      if (index <= 2 * kHalf) {
        taps[phase * kReach + age] =
            static_cast<float>(coefficient(static_cast<double>(index) - static_cast<double>(kHalf)));
      }
    }
  }
  return taps;
}

}  // namespace

Interpolator::Interpolator(std::size_t channels)
    : channels_(channels), taps_(make_taps()), recent_((kReach - 1) * channels, 0.0F), samples_to_drop_(kHalf) {}

void Interpolator::process(std::span<const float> input, std::vector<float>& output) {
  recent_.insert(recent_.end(), input.begin(), input.end());
  const std::size_t samples = input.size() / channels_;
  std::vector<float> made(samples * kFactor * channels_, 0.0F);
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t phase = 0; phase < kFactor; ++phase) {
      float* result = made.data() + (i * kFactor + phase) * channels_;
      for (std::size_t age = 0; age < kReach; ++age) {
        const float tap = taps_[phase * kReach + age];
        const float* source = recent_.data() + (i + kReach - 1 - age) * channels_;
        for (std::size_t channel = 0; channel < channels_; ++channel) {
          result[channel] += tap * source[channel];
        }
      }
    }
  }
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(input.size()));
  const std::size_t drop = std::min(samples_to_drop_, samples * kFactor);
  samples_to_drop_ -= drop;
  output.insert(output.end(), made.begin() + static_cast<std::ptrdiff_t>(drop * channels_), made.end());
}

void Interpolator::finish(std::vector<float>& output) {
  process(std::vector<float>(kDelayInputs * channels_, 0.0F), output);
}

}  // namespace nearfield
