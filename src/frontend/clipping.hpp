#pragma once
#include <cstdint>

#include "cl/device.hpp"
#include "frontend/bit_ring.hpp"
#include "frontend/front_end.hpp"

namespace nearfield {

/// Looks for full scale in packed bits, without a filter: |ones - zeros| of any 8 words in a row (256 bits, 171 us) at
/// 0.95 of their bits or above.
class ClippingCheck {
 public:
  static constexpr std::size_t kRunWords = 8;  ///< fewer when the window is shorter
  static constexpr double kLevel = 0.95;

  /// For windows of `words` packed words of the ring, which must outlive this. Throws DeviceError.
  ClippingCheck(const ocl::Device& device, const FrontEndPlan& plan, const BitRing& ring, std::size_t words);

  /// Ors kFlagClipped into word 0 of `status` when a live channel is clipped in the window from `first_slot` on.
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::uint32_t>& status);

 private:
  std::size_t channels_;
  std::size_t chunks_;
  ocl::Buffer<std::uint32_t> is_alive_;  ///< [channel]
  ocl::Kernel find_clipping_;
};

}  // namespace nearfield
