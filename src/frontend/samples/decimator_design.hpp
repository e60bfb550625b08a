#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "core/geometry.hpp"

namespace nearfield {

inline constexpr int kCicOrder = 5;
inline constexpr int kCicFactor = 8;
inline constexpr int kFirFactor = 4;
/// Bits to a decimated sample.
inline constexpr int kDecimation = kCicFactor * kFirFactor;
inline constexpr int kFirTaps = 80;
/// Packed words before a sample's own that it depends on.
inline constexpr int kDecimatorHistoryWords = kFirTaps / kFirFactor;

/// The tables of the decimator: a CIC of order 5 by 8 and a compensation filter by 4.
struct DecimatorDesign {
  /// [age in bytes 0..4][byte, first bit in the least significant bit] -> share of an output, full scale 32768.
  std::vector<std::int32_t> cic_byte_table;
  /// [tap], newest input first, sum 1; as rounded for the kernel. Ideal 1/|CIC| up to half the output rate, times a
  /// Kaiser window (Kaiser 1974; Oppenheim and Schafer, Discrete-Time Signal Processing, section 7.5).
  std::vector<float> fir_taps;

  /// Response of the whole chain, referred to the newest bit of a sample: x[n] = e^{jwn} gives y[m] = H e^{jw(32m +
  /// 31)}.
  [[nodiscard]] std::complex<double> response(double frequency_hz, double bit_rate_hz) const;
};

DecimatorDesign design_decimator();

}  // namespace nearfield
