#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::ring {

/// Nominal PDM bit rate.
inline constexpr std::uint32_t kBitRate_hz = 1'500'000;

/// Rotates the phases of a published image from the window's first bit, where a steady tone's phasor turns from hop to
/// hop, to bit-time 0, where it is constant.
using PhaseReference = DaemonSettings::PhaseReference;

/// Whole and part turns of a tone at a bit-time, exact after any length of time: f/F is kept to 128 bits, so that the
/// product with a bit-time below 2^64 is off by less than 2^-64 turns.
class TonePhase {
 public:
  /// 0 <= frequency_hz < bit_rate_hz, the F below.
  explicit TonePhase(double frequency_hz, std::uint32_t bit_rate_hz = kBitRate_hz);
  /// frac(f t / F), in units of 2^-64 turns.
  [[nodiscard]] std::uint64_t turns(std::uint64_t bit_time) const;
  /// e^{-j 2 pi f t / F}: rotates the phase from bit-time t to bit-time 0.
  [[nodiscard]] std::complex<float> to_stream(std::uint64_t bit_time) const;

 private:
  std::uint64_t step_high_ = 0;  ///< f/F, first 64 fractional bits
  std::uint64_t step_low_ = 0;   ///< the next 64
};

}  // namespace nearfield::ring
