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

/// Raises the rate of interleaved signals eightfold by a linear-phase filter, with its delay removed. Designed for
/// signals below 0.256 of the input rate (48 kHz at 187.5 kHz): flat to 1e-6 there, and images are 120 dB down.
class Interpolator {
 public:
  static constexpr std::size_t kFactor = 8;

  explicit Interpolator(std::size_t channels);
  /// Appends to `output` the result of the next samples of `input` ([sample][channel]).
  void process(std::span<const float> input, std::vector<float>& output);
  /// Appends the filter's remaining output, so that each input sample has given eight.
  void finish(std::vector<float>& output);

 private:
  std::size_t channels_;
  std::vector<float> taps_;    ///< [phase][age], for inputs from the newest to the oldest
  std::vector<float> recent_;  ///< the inputs within the filter's reach, then the new ones, [sample][channel]
  std::size_t samples_to_drop_;
};

}  // namespace nearfield
