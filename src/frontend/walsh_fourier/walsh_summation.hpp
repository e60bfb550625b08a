#pragma once
#include <memory>
#include <vector>

#include "frontend/walsh_fourier/walsh_fourier.hpp"

namespace nearfield {

/// What the kernels sum: the kept terms of each frequency, in pascal.
struct WalshSum {
  std::size_t channels;
  std::size_t bits;  ///< of a window, a power of two
  std::vector<std::vector<WalshTerm>> terms;
};

/// Walsh coefficients first (XOR and popcount with each kept function), then their weighted sums. `precomputed`: the
/// functions' words lie in memory, bits / 32 words each; else the kernel makes them from Rademacher functions.
std::unique_ptr<WalshSummation> make_direct_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum, bool precomputed);

/// The Walsh transform across words is done on the weights at plan time; per word, there remain the popcounts of the
/// in-word patterns that occur and their multiplications with one complex weight a frequency.
std::unique_ptr<WalshSummation> make_folded_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum);

/// [pattern][word] of one frequency: the kept weights of each in-word pattern (low five bits of walsh_mask()), summed
/// over its Walsh functions across words.
std::vector<std::complex<double>> folded_weights(const std::vector<WalshTerm>& terms,
                                                 const std::vector<std::uint32_t>& patterns, std::size_t bits);

}  // namespace nearfield
