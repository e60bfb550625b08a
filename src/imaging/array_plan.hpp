#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// What every processor of spectra needs to know of the array and of the spectra that it gets. Sizes and settings only:
/// no table that the device and the reference could share.
struct ArrayPlan {
  ArrayGeometry geometry;
  MediumSettings medium;
  double standoff_m = HolographySettings().standoff_m;  ///< from the surface to the microphones
  std::vector<double> frequencies_hz;
  std::vector<int> dead_channels;          ///< row * columns + column
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]; empty: none

  /// Acoustic wavenumber of a frequency, rad/m.
  [[nodiscard]] double wavenumber(std::size_t frequency) const;
  /// Flags that every frame of these frequencies carries.
  [[nodiscard]] std::uint32_t constant_flags() const;
};

}  // namespace nearfield
