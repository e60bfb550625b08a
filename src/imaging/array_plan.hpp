#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// What the plan of every processor of spectra says of the array and of its input spectra. It holds sizes and settings
/// only: no table that the device and the reference could share.
struct ArrayPlan {
  ArrayGeometry geometry;
  MediumSettings medium;
  double standoff_m = HolographySettings().standoff_m;  ///< from the surface to the microphones
  std::vector<double> frequencies_hz;
  std::vector<int> dead_channels;          ///< row * columns + column
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]; empty: none
  bool fills_from_all = false;             ///< masked microphones are predicted from all others, as sonah needs them
  /// The quantity about which masks say how much information is missing: kPressure or, where any image of these spectra
  /// shows another quantity, kNormalVelocity; nullopt where no images are made of them.
  std::optional<Quantity> imaged = std::nullopt;

  /// Acoustic wavenumber of a frequency, rad/m.
  [[nodiscard]] double wavenumber(std::size_t frequency) const;
  /// Above it waves of one direction are taken for those of another, rad/m: alias_wavenumber() of these frequencies.
  [[nodiscard]] double alias_wavenumber() const;
  /// Flags that every frame of these frequencies carries.
  [[nodiscard]] std::uint32_t constant_flags() const;
};

}  // namespace nearfield
