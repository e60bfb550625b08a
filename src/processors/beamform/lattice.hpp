#pragma once
#include <optional>

#include "core/geometry.hpp"
#include "imaging/shared/short_dft.hpp"
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

}  // namespace nearfield::das
