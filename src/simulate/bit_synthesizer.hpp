#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "core/microphones.hpp"

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

/// A tone at the microphones: channel c gets Re(phasors[c] e^{j 2 pi f t}), t counted from bit-time 0.
struct ArrayTone {
  double frequency_hz;
  std::vector<std::complex<double>> phasors;  ///< [channel], peak, full scale 1
};

/// sorama-cam for 32 x 32 microphones, else row-major.
WireLayout default_layout(const ArrayGeometry& geometry);

/// Bandwidth of the stated rms of a microphone's noise.
inline constexpr double kNoiseBandHz = 20000.0;

struct BitSynthesizerSettings {
  WireLayout layout = WireLayout::kSoramaCam;
  ArrayGeometry geometry{};
  double sample_rate_hz = kBitRateHz;
  SigmaDeltaOrder order = SigmaDeltaOrder::kSecond;
  std::uint64_t seed = 1;
  std::vector<int> dead_channels{};  ///< deliver zeros only
  /// Rms in 0 .. kNoiseBandHz, full scale 1. The noise is white up to half the bit rate (uniform deviates), so that its
  /// total rms is sqrt(sample_rate_hz / 2 / kNoiseBandHz) = 6.1 times that.
  double noise_rms = 0.0;
  double dc_offset_range = 0.0;  ///< each channel gets its own constant, uniform within +- this, full scale 1
};

/// Amplitudes at the modulators' inputs.
struct OverloadReport {
  std::vector<double> peaks;          ///< [channel], highest |input|, full scale 1; 0 for dead channels
  std::vector<std::uint64_t> resets;  ///< [channel], how often the modulator diverged
  double stable_peak = 1.0;

  /// Channels whose peak exceeded `stable_peak` or whose modulator diverged.
  [[nodiscard]] std::vector<int> overloaded_channels() const;
};

/// A sentence about the overloaded channels, "" if there are none.
std::string describe(const OverloadReport& report);

/// Turns the signals of an array of one-bit microphones into packed words. Keeps the modulators' and the noise's state
/// from call to call; each microphone's random numbers depend on the seed and its index, not on the blocks.
class BitSynthesizer {
 public:
  /// Throws ConfigError when layout and geometry don't fit or a dead channel lies outside the array.
  explicit BitSynthesizer(const BitSynthesizerSettings& settings);
  ~BitSynthesizer();
  BitSynthesizer(BitSynthesizer&&) noexcept;
  BitSynthesizer& operator=(BitSynthesizer&&) noexcept;

  [[nodiscard]] int words_per_bit_time() const { return words_per_bit_time_; }

  /// Generates the bit-times from `first_bit_time` on, words [bit-time][word]. The input is the sum of the tones and of
  /// `samples` ([bit-time][channel], full scale 1; empty: none), the channels' offsets and their noise.
  void generate(std::uint64_t first_bit_time, std::span<const ArrayTone> tones, std::span<const float> samples,
                std::span<std::uint32_t> words);

  [[nodiscard]] OverloadReport report() const;

 private:
  struct Group;
  struct Carrier;
  void fill_tones(const Group& group, std::span<const ArrayTone> tones, std::span<const Carrier> carriers);
  void fill_samples(const Group& group, std::span<const float> samples);
  void add_noise(Group& group);
  void update_peaks(Group& group) const;

  BitSynthesizerSettings settings_;
  int words_per_bit_time_;
  double noise_scale_;
  std::vector<Group> groups_;               ///< one for each word
  std::vector<double> input_;               ///< [bit-time][lane] of one group and block
  std::vector<std::uint32_t> group_words_;  ///< [bit-time] of one group and block
};

}  // namespace nearfield
