#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace nearfield::ocl {

/// Names of a kernel's arguments in their order. Arguments from `fixed` on exist only with certain macros.
struct KernelSignature {
  std::string_view name;
  std::span<const std::string_view> arguments;
  std::size_t fixed = 0;
};

/// A file below kernels/ with the files it needs, embedded in the program. cmake/embed_kernels.py writes the table.
struct EmbeddedKernel {
  std::string_view path;                     ///< below kernels/, such as "imaging/extrapolate.cl"
  std::span<const std::string_view> texts;   ///< the program's text in pieces
  std::span<const KernelSignature> kernels;  ///< all kernels of the program
};

std::span<const EmbeddedKernel> embedded_kernels();

}  // namespace nearfield::ocl
