#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield {

/// Frames of a batch that an imager must not remember, INCOMPLETE in its arena: int [frame].
class IncompleteFrames {
 public:
  static void reserve(ocl::Arena& arena, const ImagePlan& plan);
  /// Marks all frames as whole. Waits.
  void fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan);
  /// Enqueues a transfer if this batch or the one before has an incomplete frame.
  void enqueue(const ocl::Device& device, const FrameHops& hops);

 private:
  ocl::Buffer<std::int32_t> on_device_;
  std::array<std::vector<std::int32_t>, 2> values_;  ///< alternating; each stays until the next batch is enqueued
  std::size_t turn_ = 0;
  bool has_some_ = false;
};

}  // namespace nearfield
