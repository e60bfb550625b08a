#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cl/device.hpp"
#include "frontend/common/analysis.hpp"
#include "frontend/dot_product/settings.hpp"
#include "frontend/samples/decimated_samples.hpp"

namespace nearfield {

/// The front end's stage in errors and profiles.
inline constexpr std::string_view kDotStage = "front_end/dot_product";

/// One way to make n dot products of a window.
struct DotVariant {
  DotKernel kernel = DotKernel::kTiled;  ///< not kAuto
  int parts = 1;                         ///< tiled: parts into which the window is split, each a row of work-groups
  bool operator==(const DotVariant&) const = default;
};

/// Name such as "tiled in 16 parts".
std::string name_of(const DotVariant& variant);

/// The sums to compute: spectra[f][channel] = sum_t c[f][t] y[t][channel], c[f][t] = scale[f] w[t] d_f(t) / w(t).
struct DotWork {
  const SampleSource* source = nullptr;
  std::size_t channels = 0;
  std::vector<double> window;                ///< [t]
  std::vector<AnalysisVector> vectors;       ///< [frequency]
  std::vector<std::complex<double>> scales;  ///< [frequency], pascal per unit of samples

  [[nodiscard]] std::size_t frequencies() const { return vectors.size(); }
  [[nodiscard]] std::complex<double> coefficient(std::size_t frequency, std::size_t t) const;
  /// Macros common to the kernels of all stages.
  [[nodiscard]] ocl::Defines defines() const;
};

/// The kernels of one variant with their tables. Contracts are those of FrontEnd::enqueue_spectra.
class DotStage {
 public:
  DotStage() = default;
  DotStage(const DotStage&) = delete;
  DotStage& operator=(const DotStage&) = delete;
  virtual ~DotStage() = default;
  virtual void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
                       const ocl::Buffer<std::uint32_t>& status) = 0;
};

/// Compiles and allocates. What `work` points at must outlive the stage. Throws DeviceError where a variant cannot run
/// on the device.
std::unique_ptr<DotStage> make_dot_stage(const ocl::Device& device, const DotWork& work, const DotVariant& variant);

/// Kernel files run by the stages of all candidates, without those of libraries.
inline constexpr std::string_view kDotKernelFiles[] = {"frontend/dot_product/dot_tiled.cl",
                                                       "frontend/dot_product/thesis/dot_gemm.cl"};

/// Variants that are measured for this work on this device, the likely fastest one first; never empty. The thesis's
/// reductions are none of them: on an H100 they take 1.04 (n = 1) to 3.8 times (n = 50) as long as `tiled`, on
/// processors 15 times.
std::vector<DotVariant> dot_candidates(const ocl::Device& device, const DotWork& work);

/// Index of the candidate used without measurement: `tiled`, in the fewest parts that give each compute unit of the
/// device a work-group, or in the most parts there are.
std::size_t candidate_by_rule(const ocl::Device& device, const DotWork& work,
                              const std::vector<DotVariant>& candidates);

}  // namespace nearfield
