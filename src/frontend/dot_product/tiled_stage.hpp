#pragma once
#include <complex>
#include <memory>
#include <vector>

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

/// `tiled`: neighbouring work-items process neighbouring channels and hold the sums of several frequencies in
/// registers. The window is split into `parts`, each a row of work-groups. Throws DeviceError.
std::unique_ptr<DotStage> make_tiled_stage(const ocl::Device& device, const DotWork& work, int parts);

/// Variants of `tiled` with the numbers of parts worth trying for this work on this device, the likeliest first; never
/// empty.
std::vector<DotVariant> tiled_candidates(const ocl::Device& device, const DotWork& work);

/// Work-groups of `tiled` with this number of parts.
std::size_t tiled_groups(const DotWork& work, int parts);

}  // namespace nearfield
