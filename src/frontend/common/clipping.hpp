#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cl/device.hpp"
#include "frontend/common/bit_ring.hpp"
#include "frontend/front_end.hpp"

namespace nearfield {

/// Fraction of full scale at or above which a microphone counts as clipped.
inline constexpr double kClipLevel = 0.95;
/// Shortest run of packed words in which clipping is detected by the sum of signs.
inline constexpr std::size_t kClipRunWords = 8;

/// Sum of signs at or above which a run of `run_words` words counts as clipped.
int clip_sum(std::size_t run_words);
/// [channel]; 0 for dead channels, whose clipping does not count.
std::vector<std::uint32_t> alive_channels(const FrontEndPlan& plan);

/// Detects full scale in packed bits, without a filter: |ones - zeros| of any 8 consecutive words (256 bits, 171 us) at
/// 0.95 of their bits or above.
class ClippingCheck {
 public:
  /// For windows of `words` packed words of the ring, which must outlive this; runs are shorter where windows are.
  /// Throws DeviceError.
  ClippingCheck(const ocl::Device& device, const FrontEndPlan& plan, const BitRing& ring, std::size_t words);

  /// Ors kFlagClipped into word 0 of `status` when a live channel is clipped in the window from `first_slot` on.
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::uint32_t>& status);

 private:
  std::size_t channels_;
  std::size_t chunks_;
  ocl::Buffer<std::uint32_t> is_alive_;  ///< [channel]
  ocl::Kernel find_clipping_;
  ocl::Arguments<2> per_window_;
};

}  // namespace nearfield
