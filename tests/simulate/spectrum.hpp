#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

namespace nearfield::test {

/// X(f) = (2/sum w) sum w[n] x[n] e^{-j 2 pi f n/F}, periodic Hann window, by the definition.
inline std::complex<double> hann_dft(const std::vector<double>& samples, double frequency_hz, double rate_hz) {
  using std::numbers::pi;
  const double count = static_cast<double>(samples.size());
  std::complex<double> sum = 0.0;
  double weights = 0.0;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    const double t = static_cast<double>(n);
    const double weight = 0.5 - 0.5 * std::cos(2 * pi * t / count);
    sum += weight * samples[n] * std::polar(1.0, -2 * pi * frequency_hz * t / rate_hz);
    weights += weight;
  }
  return 2.0 * sum / weights;
}

/// The +-1 samples of one bit of words that come every `stride` words.
inline std::vector<double> bits_of(const std::vector<std::uint32_t>& words, std::size_t stride, std::size_t word,
                                   unsigned bit) {
  std::vector<double> samples;
  for (std::size_t i = word; i < words.size(); i += stride) {
    samples.push_back(((words[i] >> bit) & 1U) != 0 ? 1.0 : -1.0);
  }
  return samples;
}

}  // namespace nearfield::test
