#pragma once
#include <memory>
#include <vector>

#include "frontend/common/bit_ring.hpp"
#include "frontend/front_end.hpp"
#include "frontend/walsh_fourier/walsh_summation.hpp"

namespace nearfield {

/// Front end `walsh_fourier`: bits through a BitRing; each phasor is a weighted sum of Walsh coefficients. Frequencies
/// snap to the nearest bin. The variants differ in cost, and `fast` in what it keeps (in_word_order()). No history.
class WalshFourier final : public FrontEnd {
 public:
  /// The plan must have passed validate() and the entry's obstacle(). Throws ConfigError (too few coefficients),
  /// DeviceError.
  WalshFourier(const ocl::Device& device, const FrontEndPlan& plan);

  [[nodiscard]] std::uint64_t history_words() const override { return 0; }
  void enqueue_bits(std::uint64_t first_word, std::span<const std::uint32_t> wire) override;
  void enqueue_spectra(std::uint64_t first_sample_index, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) override;
  [[nodiscard]] const std::vector<double>& actual_frequencies_hz() const override { return actual_frequencies_hz_; }

 private:
  std::size_t channels_;
  std::size_t words_;  ///< words of a window
  std::vector<double> actual_frequencies_hz_;
  BitRing bits_;
  ClippingCheck clipping_;
  std::unique_ptr<WalshSummation> summation_;
};

std::unique_ptr<FrontEnd> make_walsh_fourier(const ocl::Device& device, const FrontEndPlan& plan);

}  // namespace nearfield
