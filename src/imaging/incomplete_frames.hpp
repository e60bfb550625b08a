#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "cl/arena.hpp"
#include "imaging/imager.hpp"

namespace nearfield {

/// The frames of a batch that an imager is not to remember, INCOMPLETE in its arena: int [frame].
class IncompleteFrames {
 public:
  static void reserve(ocl::Arena& arena, const PnahPlan& plan);
  /// All are whole. Waits.
  void fill(const ocl::Device& device, const ocl::Arena& arena, const PnahPlan& plan);
  /// Enqueues a transfer where there is one, or was one in the batch before.
  void enqueue(const ocl::Device& device, const FrameHops& hops);

 private:
  ocl::Buffer<std::int32_t> on_device_;
  std::array<std::vector<std::int32_t>, 2> values_;  ///< in turns: each stays until the batch after its own is enqueued
  std::size_t turn_ = 0;
  bool has_some_ = false;
};

}  // namespace nearfield
