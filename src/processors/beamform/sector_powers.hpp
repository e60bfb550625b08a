#pragma once
#include "processors/beamform/das_maps.hpp"

namespace nearfield::das {

/// From maps on the device to the mean squares of the plan's sectors: beamform/sectors.cl. Value is float, of powers,
/// or std::complex<float>.
template <class Value>
class SectorPowers {
 public:
  /// `das`, which makes the maps or the beams of the maps, and `maps` [image][pixel] must outlive it; image i is of
  /// frequency i modulo their number. Of at most `images`.
  SectorPowers(const ocl::Device& device, const BeamformPlan& plan, const Maps& das, const ocl::Buffer<Value>& maps,
               std::size_t images);
  /// After the norms of `das` have changed: the array's answers to sources in the sectors' centres, of its microphones
  /// that are not masked. Waits.
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
