#pragma once
#include <memory>

#include "frontend/dot_product/dot_stage.hpp"

/// Methods of the thesis (Oznaya Angeles 2014, sections 6.1.2 and 7.2) to compute n dot products: reductions with one
/// channel per work-group (`plain`, `mirrored`, `four_output`), and a matrix product by CLBlast (`gemm`).
namespace nearfield::thesis {

/// `outputs`: frequencies that a reduction computes at a time, 1, 2 or 4.
std::unique_ptr<DotStage> make_reduce_stage(const ocl::Device& device, const DotWork& work, std::size_t outputs);
std::unique_ptr<DotStage> make_gemm_stage(const ocl::Device& device, const DotWork& work);

}  // namespace nearfield::thesis
