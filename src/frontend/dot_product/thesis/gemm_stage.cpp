#include <fmt/format.h>

#include <algorithm>

#include "cl/gemm.hpp"
#include "frontend/dot_product/thesis/thesis_stages.hpp"
#include "frontend/dot_product/tiled_stage.hpp"

namespace nearfield::thesis {
namespace {

constexpr std::size_t kCheckGroup = 64;
constexpr std::size_t kCheckRows = 64;

ocl::Program gemm_program(const ocl::Device& device, const DotWork& work) {
  ocl::Defines defines = work.defines();
  defines["ROWS"] = fmt::format("{}", kCheckRows);
  return device.build(kDotStage, "frontend/dot_product/thesis/dot_gemm.cl", defines);
}

/// A real product: real and imaginary parts of the coefficients are rows of their own.
class GemmStage final : public DotStage {
 public:
  GemmStage(const ocl::Device& device, const DotWork& work)
      : source_(work.source),
        window_samples_(work.window.size()),
        rows_(device.upload<float>(rows_of(work), kDotStage)),
        gemm_(device, 2 * work.frequencies(), work.channels, window_samples_, std::string(kDotStage)),
        program_(gemm_program(device, work)),
        check_(program_.kernel("check_window")),
        per_window_(check_.arguments("first_slot", "status")),
        sums_(device, work, program_, 1),
        check_launch_{
            .global_0 = ocl::round_up(work.channels, kCheckGroup), .local_0 = kCheckGroup, .global_1 = kCheckRows} {
    check_.set("samples", source_->samples().samples())
        .set("is_alive", source_->is_alive())
        .set("slots", source_->samples().span().slots());
    // A window across the end of the ring is two products, and CLBlast uses other kernels for a short one: compile them
    // now and not in a live stream.
    for (const std::size_t inner : {std::size_t{1}, (window_samples_ + 1) / 2}) {
      gemm_.enqueue(rows_, source_->samples().samples(), sums_.planes(), {.inner = inner});
    }
  }
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
               const ocl::Buffer<std::uint32_t>& status) override {
    const std::size_t before_wrap = std::min(window_samples_, source_->samples().span().capacity() - first_slot);
    const ocl::Buffer<float>& samples = source_->samples().samples();
    gemm_.enqueue(rows_, samples, sums_.planes(), {.first_row_of_b = first_slot, .inner = before_wrap});
    if (before_wrap < window_samples_) {
      gemm_.enqueue(rows_, samples, sums_.planes(),
                    {.first_column_of_a = before_wrap, .inner = window_samples_ - before_wrap, .accumulate = true});
    }
    if (source_->history_words() > 0) {  // pascal cannot clip
      check_.set(per_window_, first_slot, status);
      check_.enqueue(check_launch_);
    }
    sums_.enqueue(spectra);
  }

 private:
  static std::vector<float> rows_of(const DotWork& work) {
    const std::size_t length = work.window.size();
    std::vector<float> rows(2 * work.frequencies() * length);
    for (std::size_t f = 0; f < work.frequencies(); ++f) {
      for (std::size_t t = 0; t < length; ++t) {
        const auto value = std::complex<float>(work.coefficient(f, t));
        rows[2 * f * length + t] = value.real();
        rows[(2 * f + 1) * length + t] = value.imag();
      }
    }
    return rows;
  }
  const SampleSource* source_;
  std::size_t window_samples_;
  ocl::Buffer<float> rows_;  ///< [2 frequency + (0 real, 1 imaginary)][t]
  ocl::RealGemm gemm_;
  ocl::Program program_;
  ocl::Kernel check_;
  ocl::Arguments<2> per_window_;
  PlaneSums sums_;
  ocl::Launch check_launch_;
};

}  // namespace

std::unique_ptr<DotStage> make_gemm_stage(const ocl::Device& device, const DotWork& work) {
  return std::make_unique<GemmStage>(device, work);
}

}  // namespace nearfield::thesis
