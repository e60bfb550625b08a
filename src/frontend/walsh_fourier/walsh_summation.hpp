#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cl/device.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/walsh_fourier/walsh_functions.hpp"

namespace nearfield {

/// Stage name of the front end in errors and profiles.
inline constexpr std::string_view kWalshStage = "front_end/walsh_fourier";

/// One method to sum the kept Walsh terms of a window of packed words to phasors.
class WalshSummation {
 public:
  WalshSummation() = default;
  WalshSummation(const WalshSummation&) = delete;
  WalshSummation& operator=(const WalshSummation&) = delete;
  virtual ~WalshSummation() = default;
  virtual void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra) = 0;
};

/// Input of the kernels: the kept terms of each frequency, in pascal.
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

}  // namespace nearfield
