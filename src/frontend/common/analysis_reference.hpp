#pragma once
#include <complex>
#include <vector>

#include "core/settings.hpp"

namespace nearfield::reference {

inline constexpr std::size_t kWordBits = 32;  ///< bits of a word of a wire
inline constexpr double kClipLevel = 0.95;    ///< share of full scale from which on a window counts as clipped

/// Frequency of the bin nearest to the wanted frequency.
double snapped_frequency_hz(double frequency_hz, double sample_rate_hz, int window_samples);

/// (2 / sum w) sum_n w[n] x[n][channel] e^{-j 2 pi f n / fs} for each channel; `samples` is [n][channel].
std::vector<std::complex<double>> windowed_dft(const double* samples, std::size_t channels, WindowKind window,
                                               int window_samples, double frequency_hz, double sample_rate_hz);

/// The phasor A that minimises sum_n w[n] (x[n][channel] - Re(A e^{j 2 pi f n / fs}) - offset)^2 over A and the offset,
/// for each channel; `samples` is [n][channel]. Solves the normal equations of cosine, sine and constant.
std::vector<std::complex<double>> fitted_phasors(const double* samples, std::size_t channels, WindowKind window,
                                                 int window_samples, double frequency_hz, double sample_rate_hz);

}  // namespace nearfield::reference
