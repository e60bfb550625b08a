#pragma once
#include "cl/device.hpp"
#include "processors/beamform/plan.hpp"

namespace nearfield::das {

/// Reduces maps of several planes on the device to the largest value at each pixel, and its distance:
/// beamform/focus.cl. Value is float for powers, or std::complex<float>.
template <class Value>
class LargestPlane {
 public:
  /// `maps` [image][plane][pixel of a plane] must outlive it; at most `images` of them. Image i has the frequency
  /// `lowest_hz[i % size]`.
  LargestPlane(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<Value>& maps, std::size_t images,
               std::vector<double> lowest_hz);
  /// Sets the depth resolution by the aperture of this mask.
  void use(const MicrophoneMask& mask);
  void enqueue(std::size_t images);
  [[nodiscard]] const ocl::Buffer<Value>& maps() const { return largest_; }     ///< [image][pixel of a plane]
  [[nodiscard]] const ocl::Buffer<float>& focus_m() const { return focus_m_; }  ///< likewise

 private:
  ocl::Device device_;
  BeamformPlan plan_;
  std::vector<double> lowest_hz_;
  std::vector<float> limits_on_host_;
  ocl::Buffer<float> distances_m_;
  ocl::Buffer<float> limits_m_;
  ocl::Buffer<Value> largest_;
  ocl::Buffer<float> focus_m_;
  ocl::Kernel kernel_;
};

}  // namespace nearfield::das
