#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "frontend/dot_product/thesis/thesis_stages.hpp"

namespace nearfield::thesis {
namespace {

constexpr std::size_t kReduceGroup = 256;

/// plain, mirrored and four_output.
class ReduceStage final : public DotStage {
 public:
  ReduceStage(const ocl::Device& device, const DotWork& work, const DotVariant& variant)
      : channels_(work.channels), group_(std::min(kReduceGroup, std::bit_floor(device.info().max_work_group_size))) {
    ocl::Defines defines = work.defines();
    defines["GROUP"] = fmt::format("{}", group_);
    defines["OUTPUTS"] = fmt::format("{}", outputs_of(variant.kernel));
    defines["COMPUTED"] = variant.computes_twiddles ? "1" : "0";
    kernel_ = device.build(kDotStage, "frontend/dot_product/thesis/dot_reduce.cl", defines).kernel("dot_reduce");
    if (variant.computes_twiddles) {
      set_formulas(device, work);
    } else {
      set_table(device, work);
    }
    kernel_.set("samples", work.source->samples().samples())
        .set("is_alive", work.source->is_alive())
        .set("coefficients", coefficients_)
        .set("slots", work.source->samples().span().slots());
    per_window_ = kernel_.arguments("first_slot", "spectra", "status");
  }
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
               const ocl::Buffer<std::uint32_t>& status) override {
    kernel_.set(per_window_, first_slot, spectra, status);
    kernel_.enqueue({.global_0 = group_ * channels_, .local_0 = group_});
  }

 private:
  void set_table(const ocl::Device& device, const DotWork& work) {
    std::vector<std::complex<float>> values;
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      for (std::size_t t = 0; t < work.window.size(); ++t) {
        values.emplace_back(work.coefficient(f, t));
      }
    }
    coefficients_ = device.upload<std::complex<float>>(values, kDotStage);
  }
  void set_formulas(const ocl::Device& device, const DotWork& work) {
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
    kernel_.set("window", window_).set("steps", steps_);
  }
  std::size_t channels_;
  std::size_t group_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [frequency][t], or [frequency][3]
  ocl::Buffer<float> window_;
  ocl::Buffer<std::uint64_t> steps_;
  ocl::Kernel kernel_;
  ocl::Arguments<3> per_window_;
};

}  // namespace

std::unique_ptr<DotStage> make_reduce_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant) {
  return std::make_unique<ReduceStage>(device, work, variant);
}

}  // namespace nearfield::thesis
