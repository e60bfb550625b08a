#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cl/memory.hpp"
#include "imaging/shared/image_plan.hpp"

/// Tables and macros of kernels/imaging/aperture_spectrum.cl and spectrum_record.cl: the measured cut-off.
namespace nearfield {

/// Work distribution of aperture_spectrum.cl for a device, like that of aperture.cl.
struct SpectrumCut {
  int lanes = 1;
  int fit_group = 1;
};

/// Bins of the aperture's spectrum in the order in which the kernel reads them, with the position of each in its local
/// memory.
class SpectrumTables {
 public:
  SpectrumTables(const ImagePlan& plan, const SpectrumCut& cut);
  /// Reserves room in the arena for these tables and for the measured figures.
  void reserve(ocl::Arena& arena, const ImagePlan& plan) const;
  /// Fills the tables and clears the state. Waits.
  void fill(const ocl::Device& device, const ocl::Arena& arena, const ImagePlan& plan) const;
  /// Clears the memory of past frames; does not wait.
  static void forget(const ocl::Device& device, const ocl::Arena& arena);
  /// Macros of spectrum_record.cl.
  [[nodiscard]] ocl::Defines record_defines(const ImagePlan& plan) const;
  /// Macros of aperture_spectrum.cl, including record_defines().
  [[nodiscard]] ocl::Defines defines(const ImagePlan& plan) const;
  /// Additional local memory of the kernel.
  [[nodiscard]] std::size_t local_bytes() const;

 private:
  struct Axis {
    int length;  ///< transformed microphones
    int first;   ///< factor
    int second;  ///< factor
    int line;    ///< microphones, padded to whole vectors
  };
  [[nodiscard]] static Axis axis_of(int microphones, int line);
  /// The position of a bin after the transform.
  [[nodiscard]] static int position(int bin, const Axis& axis) {
    return axis.second * (bin % axis.first) + bin / axis.first;
  }
  [[nodiscard]] static std::vector<float> hann(const Axis& axis);
  SpectrumCut cut_;
  Axis x_;
  Axis y_;
  int last_ring_ = 0;
  double ring_width_ = 0.0;
  std::vector<std::int32_t> bin_places_;
  std::vector<float> bin_rings_;
  std::vector<std::int32_t> ring_starts_;
  std::vector<float> ring_bins_;
  std::vector<std::int32_t> shell_places_;
};

}  // namespace nearfield
