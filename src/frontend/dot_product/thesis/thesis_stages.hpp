#pragma once
#include <memory>
#include <vector>

#include "frontend/dot_product/dot_stage.hpp"

/// The ways of the thesis (Oznaya Angeles 2014, sections 6.1.2 and 7.2) to make n dot products: reductions of one
/// channel a work-group (`plain`, `mirrored`, `four_output`), and a matrix product by CLBlast (`gemm`).
namespace nearfield::thesis {

/// Of one channel a work-group.
bool is_reduction(DotKernel kernel);

/// As nearfield::make_dot_stage() has it, for any variant but `tiled`.
std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant);
std::unique_ptr<DotStage> make_reduce_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant);
std::unique_ptr<DotStage> make_gemm_stage(const ocl::Device& device, const DotWork& work);

/// Those worth trying for this work on this device, the likeliest first.
std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work);

/// Frequencies that a reduction takes at a time.
std::size_t outputs_of(DotKernel kernel);

}  // namespace nearfield::thesis
