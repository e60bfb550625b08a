#include "frontend/samples/sample_source.hpp"

#include <fmt/format.h>

#include "core/frame.hpp"
#include "frontend/common/clipping.hpp"

namespace nearfield {
namespace {

ocl::Defines window_defines(const FrontEndPlan& plan) {
  return {{"CHANNELS", fmt::format("{}", plan.geometry.channels())},
          {"WINDOW", fmt::format("{}", plan.settings.window_samples)},
          {"CHECK_CLIPPING", plan.input_is_bits ? "1" : "0"},
          {"CLIP_LEVEL", fmt::format("{}f", kClipLevel)},
          {"FLAG_CLIPPED", fmt::format("{}u", static_cast<std::uint32_t>(kFlagClipped))}};
}

}  // namespace

SampleSource::SampleSource(const ocl::Device& device, const FrontEndPlan& plan, std::string stage)
    : stage_(std::move(stage)),
      channels_(static_cast<std::size_t>(plan.geometry.channels())),
      window_samples_(static_cast<std::size_t>(plan.settings.window_samples)),
      decimated_(plan.samples ? plan.samples : std::make_shared<DecimatedSamples>(device, plan, window_samples_)),
      is_alive_(device.upload<std::uint32_t>(alive_channels(plan), stage_)),
      defines_(window_defines(plan)) {}

void SampleSource::check_outputs(std::size_t frequencies, const ocl::Buffer<std::complex<float>>& spectra,
                                 const ocl::Buffer<std::uint32_t>& status) const {
  if (spectra.size() < channels_ * frequencies || status.size() < kStatusWords) {
    throw Error(ExitCode::kInternal,
                fmt::format("{}: expected room for {} spectra values and {} "
                            "status words, found {} and {}",
                            stage_, channels_ * frequencies, kStatusWords, spectra.size(), status.size()));
  }
}

}  // namespace nearfield
