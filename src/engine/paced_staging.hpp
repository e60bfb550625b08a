#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cl/device.hpp"
#include "cl/marker.hpp"

namespace nearfield {

/// Page-locked memory of a device that the frames do not wait for: bits stay in it until the device has fetched them.
/// It has two halves. While one is filled the device empties the other one; where the device is behind by more than
/// that, keep() waits for it.
class PacedStaging {
 public:
  PacedStaging(const ocl::Device& device, std::size_t half_words, std::string_view stage);
  /// A copy of `wire`, at most a half, which stays where it is until the device has run the commands that the caller
  /// enqueues before the next call.
  [[nodiscard]] std::span<const std::uint32_t> keep(std::span<const std::uint32_t> wire);

 private:
  const ocl::Device device_;
  ocl::HostBuffer<std::uint32_t> memory_;
  std::size_t half_words_;
  std::size_t half_ = 0;                               ///< the one that is filled
  std::size_t used_ = 0;                               ///< of it
  std::array<std::optional<ocl::Marker>, 2> fetched_;  ///< [half] behind the last command that reads it
};

}  // namespace nearfield
