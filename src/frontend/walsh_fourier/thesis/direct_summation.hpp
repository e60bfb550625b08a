#pragma once
#include <memory>

#include "frontend/walsh_fourier/walsh_summation.hpp"

namespace nearfield::thesis {

/// Methods of the thesis (sections 5.3 and 7.3.3): Walsh coefficients first (XOR and popcount with each kept function),
/// then their weighted sums. `precomputed`: the functions' words lie in memory, bits / 32 words each; else the kernel
/// computes them from Rademacher functions.
std::unique_ptr<WalshSummation> make_direct_summation(const ocl::Device& device, const BitRing& ring,
                                                      const WalshSum& sum, bool precomputed);

}  // namespace nearfield::thesis
