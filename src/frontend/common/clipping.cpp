#include "frontend/common/clipping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/frame.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kClippingStage = "front_end/clipping";
constexpr std::size_t kClippingGroup = 64;
constexpr std::size_t kChunk = 32;  ///< words that start a run, of one work-item

}  // namespace

int clip_sum(std::size_t run_words) {
  return static_cast<int>(std::ceil(kClipLevel * static_cast<double>(run_words * kBitsPerWord)));
}

std::vector<std::uint32_t> alive_channels(const FrontEndPlan& plan) {
  std::vector<std::uint32_t> alive(static_cast<std::size_t>(plan.geometry.channels()), 1U);
  for (const int channel : plan.dead_channels) {
    alive[static_cast<std::size_t>(channel)] = 0U;
  }
  return alive;
}

ClippingCheck::ClippingCheck(const ocl::Device& device, const FrontEndPlan& plan, const BitRing& ring,
                             std::size_t words)
    : channels_(static_cast<std::size_t>(plan.geometry.channels())) {
  const std::size_t run = std::min(kClipRunWords, words);
  chunks_ = (words - run + 1 + kChunk - 1) / kChunk;
  is_alive_ = device.upload<std::uint32_t>(alive_channels(plan), kClippingStage);
  const ocl::Program program = device.build(kClippingStage, "frontend/common/clipping.cl",
                                            {{"CHANNELS", fmt::format("{}", channels_)},
                                             {"WORDS", fmt::format("{}", words)},
                                             {"RUN", fmt::format("{}", run)},
                                             {"CHUNK", fmt::format("{}", kChunk)},
                                             {"LIMIT", fmt::format("{}u", clip_sum(run))},
                                             {"FLAG_CLIPPED", fmt::format("{}u", std::uint32_t{kFlagClipped})}});
  find_clipping_ = program.kernel("find_clipping");
  find_clipping_.set("packed", ring.packed()).set("is_alive", is_alive_).set("slots", ring.span().slots());
  per_window_ = find_clipping_.arguments("status", "first_slot");
}

void ClippingCheck::enqueue(std::uint32_t first_slot, const ocl::Buffer<std::uint32_t>& status) {
  find_clipping_.set(per_window_, status, first_slot);
  find_clipping_.enqueue(
      {.global_0 = ocl::round_up(channels_, kClippingGroup), .local_0 = kClippingGroup, .global_1 = chunks_});
}

}  // namespace nearfield
