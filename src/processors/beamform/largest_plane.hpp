#pragma once
#include <optional>

#include "cl/device.hpp"
#include "core/geometry.hpp"
#include "imaging/shared/short_dft.hpp"
#include "processors/beamform/plan.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield::das {

/// One axis of a lattice on which pixels and microphones lie, up to one offset: the i-th microphone at point
/// microphone_step i, the j-th pixel at point pixel_step j, one of the steps being 1.
struct LatticeAxis {
  int microphones = 1;
  int pixels = 1;
  int microphone_step = 1;
  int pixel_step = 1;
  double spacing_m = 0.0;  ///< distance between points

  /// Number of differences between a pixel's and a microphone's points, all of which a circular convolution must keep
  /// apart.
  [[nodiscard]] int differences() const { return microphone_step * (microphones - 1) + pixel_step * (pixels - 1) + 1; }
  /// Shortest sufficient transform of kernels/imaging/short_dft.cl; none if all are too short.
  [[nodiscard]] std::optional<ShortDft> transform() const;
};

struct Lattice {
  LatticeAxis x;
  LatticeAxis y;
};

/// Lattice of a plane grid in front of a regular array: none where the step is neither the pitch divided by a whole
/// number nor a multiple of it, to within 10 nm over the array and the plane. Uses settings and sizes only.
std::optional<Lattice> lattice_of(const far_field::GridSettings& grid, const ArrayGeometry& geometry);

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
