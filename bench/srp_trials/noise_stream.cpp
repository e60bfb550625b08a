#include "bench/srp_trials/noise_stream.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace nearfield::bench {

NoiseStream::NoiseStream(std::size_t channels, std::size_t first_bin, std::size_t bins, std::uint64_t seed)
    : channels_(channels),
      first_bin_(first_bin - 1),
      bins_(bins + 2),
      random_(seed, 5),
      samples_(kStep * channels),
      whole_(bins_ * channels),
      spectra_(bins * channels) {
  for (std::size_t k = 0; k < bins_; ++k) {
    const double turn = 2.0 * std::numbers::pi * static_cast<double>(first_bin_ + k) / static_cast<double>(kWindow);
    for (const bool is_sine : {false, true}) {
      for (std::size_t n = 0; n < kStep; ++n) {
        const double angle = turn * static_cast<double>(n);
        turns_.push_back(static_cast<float>(is_sine ? -std::sin(angle) : std::cos(angle)));
      }
    }
  }
  for (std::vector<float>& step : ring_) {
    step.resize(2 * bins_ * channels_);
  }
  for (std::size_t i = 0; i + 1 < kSteps; ++i) {
    add_step();
  }
}

void NoiseStream::add_step() {
  const double scale = std::sqrt(3.0);
  std::generate(samples_.begin(), samples_.end(), [&] { return static_cast<float>(scale * random_.uniform()); });
  std::vector<float>& step = ring_.at(oldest_);
  oldest_ = (oldest_ + 1) % kSteps;
  std::fill(step.begin(), step.end(), 0.0F);
  for (std::size_t row = 0; row < 2 * bins_; ++row) {
    float* sums = step.data() + row * channels_;
    const float* turns = turns_.data() + row * kStep;
    const float* values = samples_.data();
    for (std::size_t n = 0; n < kStep; ++n, values += channels_) {
      for (std::size_t m = 0; m < channels_; ++m) {
        sums[m] += turns[n] * values[m];
      }
    }
  }
}

std::span<const std::complex<float>> NoiseStream::next() {
  constexpr std::array<std::complex<float>, 4> kQuarterTurns = {{{1, 0}, {0, -1}, {-1, 0}, {0, 1}}};
  constexpr float kHannPower = 0.375F * kWindow;  // the sum of the window's squares
  add_step();
  std::fill(whole_.begin(), whole_.end(), std::complex<float>());
  for (std::size_t b = 0; b < kSteps; ++b) {
    const std::vector<float>& step = ring_.at((oldest_ + b) % kSteps);
    for (std::size_t k = 0; k < bins_; ++k) {
      const std::complex<float> turn = kQuarterTurns.at((first_bin_ + k) * b % kQuarterTurns.size());
      const float* real = step.data() + 2 * k * channels_;
      for (std::size_t m = 0; m < channels_; ++m) {
        whole_[k * channels_ + m] += turn * std::complex<float>(real[m], real[channels_ + m]);
      }
    }
  }
  const float scale = 1.0F / std::sqrt(kHannPower);
  for (std::size_t i = 0; i < spectra_.size(); ++i) {
    const std::complex<float> beside = whole_[i] + whole_[i + 2 * channels_];
    spectra_[i] = scale * (0.5F * whole_[i + channels_] - 0.25F * beside);
  }
  return spectra_;
}

}  // namespace nearfield::bench
