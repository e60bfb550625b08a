#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// Array and input spectra, part of the plan of every processor of spectra. It holds sizes and settings only: no table
/// that the device and the reference could share.
struct ArrayPlan {
  ArrayGeometry geometry;
  MediumSettings medium;
  double standoff_m = HolographySettings().standoff_m;  ///< from the surface to the microphones
  std::vector<double> frequencies_hz;
  std::vector<int> dead_channels;          ///< row * columns + column
  std::vector<std::complex<float>> gains;  ///< [frequency][row][column]; empty: none
  bool fills_from_all = false;             ///< true: masked microphones are predicted from all others, for sonah
  /// Quantity for which masks state the missing information: kPressure or, if any image of these spectra shows another
  /// quantity, kNormalVelocity; nullopt if no images are made of them.
  std::optional<Quantity> imaged = std::nullopt;

  /// Acoustic wavenumber of a frequency, rad/m.
  [[nodiscard]] double wavenumber(std::size_t frequency) const;
  /// Wavenumber above which waves of one direction alias to another, rad/m: alias_wavenumber() of these frequencies.
  [[nodiscard]] double alias_wavenumber() const;
  /// Flags that every frame of these frequencies carries.
  [[nodiscard]] std::uint32_t constant_flags() const;
};

/// Channels that are not masked in the plan, ascending.
std::vector<int> used_microphones(const ArrayPlan& plan);

}  // namespace nearfield
