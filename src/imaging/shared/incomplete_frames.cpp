#include "imaging/shared/incomplete_frames.hpp"

#include <algorithm>
#include <span>

namespace nearfield {
namespace {

constexpr std::string_view kIncompleteStage = "imaging/incomplete";

}  // namespace

void IncompleteFrames::reserve(ocl::Arena& arena, const ImagePlan& plan) {
  arena.reserve<std::int32_t>("INCOMPLETE", static_cast<std::size_t>(plan.batch));
}

void IncompleteFrames::fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan) {
  values_.fill(std::vector<std::int32_t>(static_cast<std::size_t>(plan.batch)));
  on_device_ = arena.part<std::int32_t>(device, "INCOMPLETE", values_.front());
}

void IncompleteFrames::enqueue(const ocl::Device& device, const FrameHops& hops) {
  const bool had_some = has_some_;
  has_some_ = !hops.incomplete.empty();
  if (!has_some_ && !had_some) {
    return;
  }
  turn_ = 1 - turn_;
  std::vector<std::int32_t>& values = values_.at(turn_);
  std::fill(values.begin(), values.end(), 0);
  std::copy_n(hops.incomplete.begin(), std::min(hops.incomplete.size(), values.size()), values.begin());
  device.enqueue_write(on_device_, 0, std::span<const std::int32_t>(values), kIncompleteStage);
}

}  // namespace nearfield
