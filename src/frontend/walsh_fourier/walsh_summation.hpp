#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cl/device.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/common/bit_ring.hpp"
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

/// Weights [m] = sum_i d(i) WAL(m, i), d as in AnalysisVector, with window and DC removal (the rows of A^-1 in thesis
/// 5.2). A window's phasor is sum_m [m] X(m), X(m) = (1 / length) sum_i WAL(m, i) x(i); length is a power of two.
std::vector<std::complex<double>> walsh_weights(const AnalysisVector& analysis, WindowKind window, std::size_t length);

/// One Walsh function's part in a phasor: weight * sum_i WAL(function, i) x(i).
struct WalshTerm {
  std::uint32_t function;  ///< in sequency order
  std::complex<double> weight;
};

/// Most of the five in-word Rademacher functions that a kept Walsh function may contain. The cost of `fast` grows with
/// the in-word patterns that occur: given a count, order 1 (6 patterns) is taken if it suffices, else 2 (16), else 5
/// (32). Other variants always take 5.
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

/// Stage name of the front end in errors and profiles.
inline constexpr std::string_view kWalshStage = "front_end/walsh_fourier";

/// One method to sum the kept Walsh terms of a window of packed words to phasors.
class WalshSummation {
 public:
  WalshSummation() = default;
  WalshSummation(const WalshSummation&) = delete;
  WalshSummation& operator=(const WalshSummation&) = delete;
  virtual ~WalshSummation() = default;
  /// Enqueues the sum over the window that begins in slot `first_slot`; spectra [frequency][channel], Pa. Does not
  /// wait.
  virtual void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra) = 0;
};

/// Kept terms of each frequency, scaled so that the sum over bits of +-1 is a phasor in Pa.
struct WalshSum {
  std::size_t channels;
  std::size_t bits;  ///< length of a window, a power of two
  std::vector<std::vector<WalshTerm>> terms;

  /// Macros common to the kernels of all summations.
  [[nodiscard]] ocl::Defines defines() const;
};

/// The Walsh transform across words is applied to the weights at plan time; per word, the popcounts of the in-word
/// patterns that occur and their multiplications with one complex weight per frequency remain.
std::unique_ptr<WalshSummation> make_folded_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum);

/// [pattern][word] of one frequency: the kept weights of each in-word pattern (low five bits of walsh_mask()), summed
/// over its Walsh functions across words.
std::vector<std::complex<double>> folded_weights(const std::vector<WalshTerm>& terms,
                                                 const std::vector<std::uint32_t>& patterns, std::size_t bits);

namespace thesis {

/// Methods of the thesis (sections 5.3 and 7.3.3): Walsh coefficients first (XOR and popcount with each kept function),
/// then their weighted sums. `precomputed`: the functions' words lie in memory, bits / 32 words each; else the kernel
/// computes them from Rademacher functions.
std::unique_ptr<WalshSummation> make_direct_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum, bool precomputed);

}  // namespace thesis

}  // namespace nearfield
