#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "frontend/common/analysis.hpp"
#include "frontend/walsh_fourier/settings.hpp"

namespace nearfield {

unsigned log2_of(std::size_t power_of_two);

/// The h with WAL(m, i) = (-1)^popcount(h & i), i < 2^log2_length, in sequency order: the bit-reversed Gray code of m.
/// Bit r - 1 of the Gray code takes the Rademacher function RAD(r, i) = (-1)^(bit log2_length - r of i) (thesis 5.1.3).
std::uint32_t walsh_mask(std::uint32_t sequency, unsigned log2_length);

/// 32 values of (-1)^popcount(mask & i), i = 0 .. 31, bit 1 = -1.
std::uint32_t walsh_word(std::uint32_t mask);

/// In place, length a power of two, unscaled: out[h] = sum_i (-1)^popcount(h & i) in[i].
void fast_walsh_hadamard(std::span<std::complex<double>> values);

/// The rows of A^-1 (thesis 5.2) with window and DC removal folded in, as a - jb: [m] = sum_i d(i) WAL(m, i), so that
/// the phasor is sum_m [m] A(m), A(m) = (1 / length) sum_i WAL(m, i) x(i). Length is a power of two.
std::vector<std::complex<double>> walsh_weights(const AnalysisVector& analysis, WindowKind window, std::size_t length);

/// One Walsh function's part in a phasor: weight * sum_i WAL(function, i) x(i).
struct WalshTerm {
  std::uint32_t function;  ///< in sequency order
  std::complex<double> weight;
};

/// Most of the five in-word Rademacher functions that a kept Walsh function may contain. `fast` has a cost per
/// combination that occurs, not per Walsh function, so with a given count it chooses among those of order 1 (6
/// combinations) if they suffice, else of order 2 (16), else among all 32, as the other variants always do.
int in_word_order(const WalshFourierSettings& settings, std::size_t length);

/// Terms of walsh_weights() that are kept: from those of in_word_order(), the `coefficients` largest magnitudes, or all
/// of at least `threshold`; sorted by function. Magnitudes that differ by rounding are ties, which the lower functions
/// win.
std::vector<WalshTerm> keep_terms(const std::vector<std::complex<double>>& weights,
                                  const WalshFourierSettings& settings);

/// The response of the terms to x = e^{jwt} and to e^{-jwt}; 2 and 0 when all are kept.
struct ToneResponse {
  std::complex<double> forward;
  std::complex<double> image;
};
ToneResponse tone_response(const std::vector<WalshTerm>& terms, std::size_t length, double radians_per_bit);

/// Kept terms, mixed with their conjugates so that their tone_response() is 2 and 0: x = Re(A e^{jwt}) gives A however
/// few are kept. Throws ConfigError if they are too few to determine amplitude and phase.
std::vector<WalshTerm> walsh_terms(const WalshFourierSettings& settings, WindowKind window, bool remove_dc,
                                   std::size_t length, double radians_per_bit);

}  // namespace nearfield
