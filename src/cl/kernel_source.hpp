#pragma once
#include <string_view>
#include <vector>

namespace nearfield::ocl {

/// One file below kernels/, held in the program.
struct EmbeddedKernel {
  std::string_view path;  ///< below kernels/, such as "imaging/extrapolate.cl"
  std::string_view source;
};

const std::vector<EmbeddedKernel>& embedded_kernels();

}  // namespace nearfield::ocl
