#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/band.hpp"

namespace nearfield {

/// A time signal as a table, interpolated by Lagrange's polynomial through the six nearest points.
class SignalTable {
 public:
  /// `values` at `rate_hz` from time 0 on; silence beyond the ends, or periodic repetition.
  SignalTable(std::span<const float> values, double rate_hz, bool repeats);

  [[nodiscard]] double at(double t_s) const;

 private:
  static constexpr std::size_t kBefore = 2;  ///< points before the one at or below a time
  static constexpr std::size_t kAfter = 3;
  std::size_t length_;
  double rate_hz_;
  bool repeats_;
  std::vector<float> values_;  ///< padded before and after by the polynomial's reach
};

/// Noise of a band: sines of equal amplitude and of random phases at all multiples of 1/period_s from band.low_hz to
/// below band.high_hz, which repeats after a period. Their number times amplitude^2/2 is the mean square of a period,
/// exactly, and the share of lines in any band is that band's share of it (M. R. Schroeder, "Synthesis of
/// low-peak-factor signals", IEEE Trans. Inf. Theory 16, 1970, on such sums; with random phases they become Gaussian as
/// their number grows).
struct NoiseLines {
  double period_s = 1.0;
  std::uint64_t first = 0;  ///< number of the lowest line, in multiples of 1/period_s
  std::uint64_t count = 0;

  /// Share of the mean square from low to below high.
  [[nodiscard]] double share(const Band& band) const;
};
NoiseLines noise_lines(const Band& band, double period_s);

/// Period of a scene's noise: its duration, or, beyond 20 s, the longest equal part of it of at most 20 s.
double noise_period_s(double duration_s);

/// The sum of the lines, mean square 1, with phases from the stream of that number of `seed`. The table's rate is at
/// least 15.6 times the highest frequency of a scene's noise (24 kHz): the polynomial's error there is -94 dB, and -104
/// dB at 20 kHz. There must be at least one line.
SignalTable make_noise(const NoiseLines& lines, std::uint64_t seed, std::uint64_t stream);

}  // namespace nearfield
