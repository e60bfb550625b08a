#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cl/device.hpp"
#include "cl/marker.hpp"

namespace nearfield {

/// Page-locked memory of a device that frames do not wait for: bits stay in it until the device has fetched them. It
/// has two halves. While one is filled the device empties the other; where the device falls further behind, keep()
/// waits for it.
class PacedStaging {
 public:
  PacedStaging(const ocl::Device& device, std::size_t half_words, std::string_view stage);
  /// Copies `wire`, at most half the memory; the copy stays in place until the device has run the commands that the
  /// caller enqueues before the next call.
  [[nodiscard]] std::span<const std::uint32_t> keep(std::span<const std::uint32_t> wire);

 private:
  const ocl::Device device_;
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t half_words_;
  std::size_t half_ = 0;                               ///< half being filled
  std::size_t used_ = 0;                               ///< words used in that half
  std::array<std::optional<ocl::Marker>, 2> fetched_;  ///< [half] marker behind the last command that reads it
};

}  // namespace nearfield
