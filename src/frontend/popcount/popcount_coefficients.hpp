#pragma once
#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "core/settings.hpp"
#include "frontend/common/analysis.hpp"

/// Coefficients that turn the moments of 32-bit words into spectra: in each word, the least-squares fit of the analysis
/// vector by polynomials. The polynomials p_q are 1, i - 31/2 and (i - 31/2)^2 - 341/4 on i = 0 .. 31; they are
/// orthogonal, and the moments m_q = sum_i p_q(i) s_i of signs s_i = +-1 are integers.
namespace nearfield {

inline constexpr int kMaxMomentOrder = 2;

/// One window's analysis at one frequency.
struct WordExpansion {
  AnalysisVector vector;  ///< a step is one bit
  WindowKind window = WindowKind::kHann;
  int words = 0;
  int order = 1;
};

/// C [q][word] for which sum_q sum_word C m approximates sum_t d(t) s(t). Divided by half the response to e^{jwt}, so
/// that this tone gives 2, as with the vector itself.
std::vector<std::complex<double>> word_coefficients(const WordExpansion& expansion);

/// Half the sum of the projections' moments of e^{jwt}: the divisor in word_coefficients().
std::complex<double> half_response(const WordExpansion& expansion);

/// [q]: factors of a word's moments whose sum approximates sum_i e^{-j radians_per_bit i} s_i, i = 0 .. 31.
std::vector<std::complex<double>> exponential_coefficients(double radians_per_bit, int order);

/// Number of bins of the moments' transforms that contribute to one frequency's spectrum: k - 1, k, k + 1, 0, 1.
inline constexpr std::size_t kUsedBins = 5;

/// Factors of X_q[b] and of its conjugate.
struct BinWeight {
  std::complex<double> direct;
  std::complex<double> mirrored;
};

/// [q][b]: the sum of word_coefficients(), from X_q[b] = sum_word m_q[word] e^{-j 2 pi b word / words}, for an analysis
/// at bin k exactly: a hann window is three neighbouring bins, and an offset is bin 0 and its neighbour. Bins that
/// coincide (k = 1, 2) have all their weight at the first.
std::vector<std::array<BinWeight, kUsedBins>> bin_weights(const WordExpansion& expansion, std::uint32_t bin);

}  // namespace nearfield
