#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// The vector whose inner product with a window's samples is the phasor of one frequency:
///   A = sum_t d(t) x(t),   d(t) = w(t) (forward e^{-jwt} + image e^{+jwt} + constant),   t = 0 .. length - 1.
/// Without DC removal it is the windowed DFT, forward = 2 / sum w, the others 0. With it, d is the least-squares one
/// (weighted with w) for x(t) = Re(A e^{jwt}) + offset: an offset gives exactly 0, e^{jwt} gives 2 and e^{-jwt} gives
/// 0. On the bin grid of a hann window it differs from the DFT at bin 1 only.
struct AnalysisVector {
  std::complex<double> forward;
  std::complex<double> image;
  std::complex<double> constant;
  double radians_per_step = 0.0;  ///< w, of one sample or one bit

  /// d(t) / w(t).
  [[nodiscard]] std::complex<double> without_window(double t) const;
};

/// sum_t w(t) e^{j radians t} of the periodic window, by its closed form (a geometric series and its neighbours).
std::complex<double> window_transform(WindowKind window, std::size_t length, double radians);

/// Throws ConfigError where frequency and length are too small to distinguish tone and offset.
AnalysisVector analysis_vector(WindowKind window, std::size_t length, double radians_per_step, bool remove_dc);

/// True when the bin nearest to a frequency is neither 0 nor half the sample rate (or beyond).
bool is_inner_bin(double frequency_hz, double sample_rate_hz, int window_samples);

/// The nearest bin of each frequency; all must be inner ones.
std::vector<std::uint32_t> nearest_bins(const std::vector<double>& frequencies_hz, double sample_rate_hz,
                                        int window_samples);

/// [n], periodic: hann is 1/2 - 1/2 cos(2 pi n / N) (Harris 1978), none is 1.
std::vector<double> window_values(WindowKind kind, int window_samples);

}  // namespace nearfield
