#include "imaging/incomplete_frames.hpp"

#include <algorithm>
#include <span>

namespace nearfield {
namespace {

constexpr std::string_view kIncompleteStage = "imaging/incomplete";

}  // namespace

void IncompleteFrames::reserve(ocl::Arena& arena, const PnahPlan& plan) {
  arena.reserve<std::int32_t>("INCOMPLETE", static_cast<std::size_t>(plan.batch));
}

void IncompleteFrames::fill(const ocl::Device& device, const ocl::Arena& arena, const PnahPlan& plan) {
  values_.assign(static_cast<std::size_t>(plan.batch), 0);
  on_device_ = arena.part<std::int32_t>(device, "INCOMPLETE", values_);
}

void IncompleteFrames::enqueue(const ocl::Device& device, const FrameHops& hops) {
  const bool had_some = has_some_;
  has_some_ = !hops.incomplete.empty();
  if (!has_some_ && !had_some) {
    return;
  }
  std::fill(values_.begin(), values_.end(), 0);
  std::copy_n(hops.incomplete.begin(), std::min(hops.incomplete.size(), values_.size()), values_.begin());
  device.enqueue_write(on_device_, 0, std::span<const std::int32_t>(values_), kIncompleteStage);
}

}  // namespace nearfield
