#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace nearfield {

/// Order of a one-bit modulator's noise transfer function.
enum class SigmaDeltaOrder { kSecond = 2, kFourth = 4 };

/// Noise transfer function as used, N(z)/D(z) with N = (1 - z^-1)^order and D's leading coefficient 1.
/// Order 2: D = 1. Order 4: D is that of a Butterworth high-pass whose cut-off makes the gain at half the bit rate 1.5.
/// Coefficients are of z^0, z^-1, ..., z^-4.
struct NoiseTransfer {
  std::array<double, 5> numerator;
  std::array<double, 5> denominator;
};
NoiseTransfer noise_transfer(SigmaDeltaOrder order);

/// Highest peak input, full scale = 1, considered stable: 0.9 (-0.9 dBFS) for order 2 and 0.5 (-6 dBFS) for order 4.
/// With tones of 20 Hz to 15 kHz, constants and uniform noise, 32 lanes of 3e6 bits, order 2 never became unstable up
/// to 0.95 and order 4 never up to 0.55, a few times at 0.60. Towards 0.9 the noise of order 2 grows.
double stable_peak(SigmaDeltaOrder order);

/// 32 one-bit sigma-delta modulators side by side, one for each bit of a word.
///
/// Error feedback: with y[n] = u[n] + (NTF - 1) e and the quantiser's error e = sign(y) - y, the bits are u + NTF e:
/// the signal passes with gain 1 and no delay, and bit n stands for u[n]. States are doubles: order 4 has a gain of
/// 1/D(1) = 160 from rounding to the band, which would put single precision's rounding at the level of the modulator's
/// own noise.
class SigmaDelta32 {
 public:
  static constexpr std::size_t kLanes = 32;

  /// Each lane starts as if it had been running, with its own random history: stream number `first_lane` + lane of
  /// `seed`.
  SigmaDelta32(SigmaDeltaOrder order, std::uint64_t seed, std::uint64_t first_lane);

  /// input [bit-time][lane], lane fastest, full scale 1; words [bit-time], lane 0 in the least significant bit, a one
  /// for +1.
  void modulate(std::span<const double> input, std::span<std::uint32_t> words);

  /// Number of times each lane's quantiser input diverged and its state was cleared. Input beyond stable_peak() does
  /// that.
  [[nodiscard]] const std::array<std::uint64_t, kLanes>& resets() const { return resets_; }

 private:
  using Lanes = std::array<double, kLanes>;
  std::uint32_t step(const double* input, Lanes& largest);
  void clear_runaways(const Lanes& largest);

  std::array<double, 4> forward_;   // numerator minus denominator, coefficients of z^-1 .. z^-4
  std::array<double, 4> backward_;  // denominator, coefficients of z^-1 .. z^-4
  SigmaDeltaOrder order_;
  alignas(64) std::array<Lanes, 4> state_{};  // state of (NTF - 1), transposed direct form
  std::array<std::uint64_t, kLanes> resets_{};
};

}  // namespace nearfield
