#pragma once
#include <cstdint>
#include <span>

#include "cl/device.hpp"
#include "frontend/common/bit_ring.hpp"

namespace nearfield {

/// The newest decimated samples on the device: float [slot][channel], channel fastest; sample m lies in slot
/// m mod capacity. Unit: digital full scale when the decimator writes, pascal when fed directly.
class SampleRing {
 public:
  SampleRing(const ocl::Device& device, int channels, std::size_t capacity_samples);

  /// Uploads samples [sample][channel] from `first_sample` on, at most the capacity. Does not wait: `samples` must stay
  /// unchanged until Device::wait(). An append that does not continue the last one restarts the ring.
  void enqueue_append(std::uint64_t first_sample, std::span<const float> samples);
  /// Counts samples that a kernel writes.
  void append(std::uint64_t first_sample, std::size_t count) { span_.append(first_sample, count); }

  [[nodiscard]] int channels() const { return channels_; }
  [[nodiscard]] const RingSpan& span() const { return span_; }
  [[nodiscard]] const ocl::Buffer<float>& samples() const { return samples_; }

 private:
  ocl::Device device_;
  int channels_;
  RingSpan span_;
  ocl::Buffer<float> samples_;
};

}  // namespace nearfield
