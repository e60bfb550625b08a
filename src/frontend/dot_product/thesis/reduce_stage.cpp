#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "frontend/dot_product/thesis/thesis_stages.hpp"

namespace nearfield::thesis {
namespace {

constexpr std::size_t kReduceGroup = 256;

/// plain, mirrored and four_output, with computed twiddles, which the thesis found to be faster (section 7.3.1).
class ReduceStage final : public DotStage {
 public:
  ReduceStage(const ocl::Device& device, const DotWork& work, std::size_t outputs)
      : channels_(work.channels), group_(std::min(kReduceGroup, std::bit_floor(device.info().max_work_group_size))) {
    ocl::Defines defines = work.defines();
    defines["GROUP"] = fmt::format("{}", group_);
    defines["OUTPUTS"] = fmt::format("{}", outputs);
    kernel_ = device.build(kDotStage, "frontend/dot_product/thesis/dot_reduce.cl", defines).kernel("dot_reduce");
    upload(device, work);
    kernel_.set("samples", work.source->samples().samples())
        .set("is_alive", work.source->is_alive())
        .set("coefficients", coefficients_)
        .set("window", window_)
        .set("steps", steps_)
        .set("slots", work.source->samples().span().slots());
    per_window_ = kernel_.arguments("first_slot", "spectra", "status");
  }
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
               const ocl::Buffer<std::uint32_t>& status) override {
    kernel_.set(per_window_, first_slot, spectra, status);
    kernel_.enqueue({.global_0 = group_ * channels_, .local_0 = group_});
  }

 private:
  void upload(const ocl::Device& device, const DotWork& work) {
    std::vector<std::uint64_t> steps;
    std::vector<std::complex<float>> terms;
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      const AnalysisVector& vector = work.vectors[f];
      steps.push_back(static_cast<std::uint64_t>(std::ldexp(vector.radians_per_step / (2.0 * std::numbers::pi), 64)));
      for (const std::complex<double>& term : {vector.forward, vector.image, vector.constant}) {
        terms.emplace_back(work.scales[f] * term);
      }
    }
    window_ = device.upload<float>(std::vector<float>(work.window.begin(), work.window.end()), kDotStage);
    steps_ = device.upload<std::uint64_t>(steps, kDotStage);
    coefficients_ = device.upload<std::complex<float>>(terms, kDotStage);
  }
  std::size_t channels_;
  std::size_t group_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [frequency][3]
  ocl::Buffer<float> window_;
  ocl::Buffer<std::uint64_t> steps_;
  ocl::Kernel kernel_;
  ocl::Arguments<3> per_window_;
};

}  // namespace

std::unique_ptr<DotStage> make_reduce_stage(const ocl::Device& device, const DotWork& work, std::size_t outputs) {
  return std::make_unique<ReduceStage>(device, work, outputs);
}

}  // namespace nearfield::thesis
