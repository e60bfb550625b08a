#pragma once
#include <span>

#include "cl/program_cache.hpp"

namespace nearfield::ocl {

/// Adds files to those that Device::build() finds, for a kind of processor outside of src/ (add_processor()). They must
/// last as long as the program; call it before other threads begin.
void add_kernels(std::span<const EmbeddedKernel> files);

}  // namespace nearfield::ocl
