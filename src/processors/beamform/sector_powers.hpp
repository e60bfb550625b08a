#pragma once
#include "processors/beamform/das_maps.hpp"

namespace nearfield::das {

/// Computes mean squares of the plan's sectors from maps on the device: beamform/sectors.cl. Value is float for powers,
/// or std::complex<float>.
template <class Value>
class SectorPowers {
 public:
  /// `das`, which makes the maps or their beams, and `maps` [image][pixel] must outlive it; there are at most `images`.
  /// Image i has frequency i modulo their number.
  SectorPowers(const ocl::Device& device, const BeamformPlan& plan, const Maps& das, const ocl::Buffer<Value>& maps,
               std::size_t images);
  /// Call it after the norms of `das` have changed: recomputes the array's responses to sources in the sectors' centres
  /// with its unmasked microphones. Waits.
  void use_norms();
  void enqueue(std::size_t images);
  [[nodiscard]] const ocl::Buffer<float>& powers() const { return powers_; }  ///< [image][plane][sector], Pa^2

 private:
  ocl::Device device_;
  BeamformPlan plan_;
  ocl::Buffer<float> answers_;  ///< [frequency][plane][sector]
  ocl::Buffer<float> powers_;
  ocl::Buffer<cl_int4> sectors_;
  ocl::Buffer<std::int32_t> centres_;
  ocl::Program program_;
  ocl::Kernel sums_;
  ocl::Kernel answer_;
};

}  // namespace nearfield::das
