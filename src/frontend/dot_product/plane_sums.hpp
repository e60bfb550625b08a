#pragma once
#include <complex>

#include "frontend/dot_product/dot_stage.hpp"

namespace nearfield {

/// Sums the planes of partial sums to spectra: kernels/frontend/dot_product/sum_parts.cl.
class PlaneSums {
 public:
  /// `program` must contain the kernel sum_parts.
  PlaneSums(const ocl::Device& device, const DotWork& work, const ocl::Program& program, std::size_t parts);
  /// [part][2 frequency + (0 real, 1 imaginary)][channel].
  [[nodiscard]] const ocl::Buffer<float>& planes() const { return planes_; }
  void enqueue(const ocl::Buffer<std::complex<float>>& spectra);

 private:
  ocl::Buffer<float> planes_;
  ocl::Launch launch_;
  ocl::Kernel kernel_;
  ocl::Arguments<1> to_spectra_;
};

}  // namespace nearfield
