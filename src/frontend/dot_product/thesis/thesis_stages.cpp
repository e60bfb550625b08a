#include "frontend/dot_product/thesis/thesis_stages.hpp"

#include <fmt/format.h>

namespace nearfield::thesis {
namespace {

/// A GEMM is faster than reductions of one channel per work-group from n = 44 on in the thesis (section 7.2). On CPUs,
/// which implement a barrier as a pass over the whole group, they are 15 times slower than the others from n = 1 on.
constexpr std::size_t kMaxReducedFrequencies = 64;

}  // namespace

bool is_reduction(DotKernel kernel) {
  return kernel == DotKernel::kPlain || kernel == DotKernel::kMirrored || kernel == DotKernel::kFourOutput;
}

std::size_t outputs_of(DotKernel kernel) {
  return kernel == DotKernel::kFourOutput ? 4 : (kernel == DotKernel::kMirrored ? 2 : 1);
}

std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant) {
  if (is_reduction(variant.kernel)) {
    return make_reduce_stage(device, work, variant);
  }
  if (variant.kernel == DotKernel::kGemm) {
    return make_gemm_stage(device, work);
  }
  throw Error(ExitCode::kInternal, fmt::format("{}: a variant is not named", kDotStage));
}

std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work) {
  std::vector<DotVariant> variants = {{.kernel = DotKernel::kGemm}};
  if (!device.info().is_gpu || work.frequencies() > kMaxReducedFrequencies) {
    return variants;
  }
  for (const DotKernel kernel : {DotKernel::kFourOutput, DotKernel::kMirrored, DotKernel::kPlain}) {
    if (work.frequencies() >= outputs_of(kernel)) {
      variants.push_back({.kernel = kernel, .computes_twiddles = true});
      variants.push_back({.kernel = kernel, .computes_twiddles = false});
    }
  }
  return variants;
}

}  // namespace nearfield::thesis
