#include "frontend/dot_product/dot_stage.hpp"

#include <fmt/format.h>

#include "frontend/dot_product/thesis/thesis_stages.hpp"
#include "frontend/dot_product/tiled_stage.hpp"

namespace nearfield {

std::string name_of(const DotVariant& variant) {
  std::string name(name_of(variant.kernel));
  switch (variant.kernel) {
    case DotKernel::kTiled:
      return variant.parts == 1 ? name : fmt::format("{} in {} parts", name, variant.parts);
    case DotKernel::kPlain:
    case DotKernel::kMirrored:
    case DotKernel::kFourOutput:
      return fmt::format("{}, twiddles {}", name, variant.computes_twiddles ? "computed" : "fetched");
    default:
      return name;
  }
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
  return variant.kernel == DotKernel::kTiled ? make_tiled_stage(device, work, variant.parts)
                                             : thesis::make_dot_stage(device, work, variant);
}

std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work) {
  std::vector<DotVariant> variants = tiled_candidates(device, work);
  const std::vector<DotVariant> others = thesis::dot_candidates(device, work);
  variants.insert(variants.end(), others.begin(), others.end());
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
