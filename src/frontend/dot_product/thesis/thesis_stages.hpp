#pragma once
#include <memory>
#include <vector>

#include "frontend/dot_product/dot_stage.hpp"

/// Methods of the thesis (Oznaya Angeles 2014, sections 6.1.2 and 7.2) to compute n dot products: reductions with one
/// channel per work-group (`plain`, `mirrored`, `four_output`), and a matrix product by CLBlast (`gemm`).
namespace nearfield::thesis {

/// True for kernels that process one channel per work-group.
bool is_reduction(DotKernel kernel);

/// nearfield::make_dot_stage() for any variant but `tiled`.
std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant);
std::unique_ptr<DotStage> make_reduce_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant);
std::unique_ptr<DotStage> make_gemm_stage(const ocl::Device& device, const DotWork& work);

/// Variants worth trying for this work on this device, the likeliest first.
std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work);

/// Frequencies that a reduction computes at a time.
std::size_t outputs_of(DotKernel kernel);

}  // namespace nearfield::thesis
