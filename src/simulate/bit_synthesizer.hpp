#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "core/layout.hpp"
#include "simulate/sigma_delta.hpp"

namespace nearfield {

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
