#include "frontend/samples/sample_ring.hpp"

#include <fmt/format.h>

namespace nearfield {
namespace {

constexpr std::string_view kSampleRingStage = "front_end/sample_ring";

}  // namespace

SampleRing::SampleRing(const ocl::Device& device, int channels, std::size_t capacity_samples)
    : device_(device),
      channels_(channels),
      span_(capacity_samples),
      samples_(device.allocate<float>(capacity_samples * static_cast<std::size_t>(channels), kSampleRingStage)) {
  device.enqueue_fill(samples_, 0.0F, kSampleRingStage);
}

void SampleRing::enqueue_append(std::uint64_t first_sample, std::span<const float> samples) {
  const auto channels = static_cast<std::size_t>(channels_);
  const std::size_t count = samples.size() / channels;
  if (count == 0 || samples.size() % channels != 0 || count > span_.capacity()) {
    throw Error(ExitCode::kInternal, fmt::format("{}: expected 1 to {} samples of {} channels, found {} values",
                                                 kSampleRingStage, span_.capacity(), channels_, samples.size()));
  }
  span_.append(first_sample, count);
  const std::size_t slot = span_.slot_of(first_sample);
  const std::size_t before_wrap = std::min(count, span_.capacity() - slot) * channels;
  device_.enqueue_write(samples_, slot * channels, samples.first(before_wrap), kSampleRingStage);
  device_.enqueue_write(samples_, 0, samples.subspan(before_wrap), kSampleRingStage);
}

}  // namespace nearfield
