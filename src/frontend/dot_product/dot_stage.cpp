#include "frontend/dot_product/dot_stage.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "frontend/dot_product/thesis/thesis_stages.hpp"
#include "frontend/dot_product/tiled_stage.hpp"

namespace nearfield {

std::string name_of(const DotVariant& variant) {
  const std::string_view name = name_of(variant.kernel);
  return variant.parts == 1 ? std::string(name) : fmt::format("{} in {} parts", name, variant.parts);
}

std::complex<double> DotWork::coefficient(std::size_t frequency, std::size_t t) const {
  return scales[frequency] * window[t] * vectors[frequency].without_window(static_cast<double>(t));
}

ocl::Defines DotWork::defines() const {
  ocl::Defines defines = source->defines();
  defines["FREQUENCIES"] = fmt::format("{}", frequencies());
  return defines;
}

std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant) {
  switch (variant.kernel) {
    case DotKernel::kPlain:
      return thesis::make_reduce_stage(device, work, 1);
    case DotKernel::kMirrored:
      return thesis::make_reduce_stage(device, work, 2);
    case DotKernel::kFourOutput:
      return thesis::make_reduce_stage(device, work, 4);
    case DotKernel::kGemm:
      return thesis::make_gemm_stage(device, work);
    case DotKernel::kTiled:
      return make_tiled_stage(device, work, variant.parts);
    case DotKernel::kAuto:
      break;
  }
  throw Error(ExitCode::kInternal, "dot product: expected a kernel, found none chosen");
}

std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work) {
  std::vector<DotVariant> variants = tiled_candidates(device, work);
  variants.push_back({.kernel = DotKernel::kGemm});
  return variants;
}

std::size_t candidate_by_rule(const ocl::Device& device, const DotWork& work,
                              const std::vector<DotVariant>& candidates) {
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].kernel == DotKernel::kTiled) {
      chosen = i;
      if (tiled_groups(work, candidates[i].parts) >= device.info().compute_units) {
        break;
      }
    }
  }
  return chosen;
}

}  // namespace nearfield
