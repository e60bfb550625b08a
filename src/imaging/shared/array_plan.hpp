#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/geometry.hpp"
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

/// Wavenumber above which an array confuses waves of different directions, rad/m. On a regular grid pi/pitch. Elsewhere
/// from the array's pattern, |sum over microphones of e^{j q.r}| over their number, which states how alike waves of
/// wave vectors q apart look, for q up to 2 k in the array's plane (H. L. Van Trees, "Optimum Array Processing", Wiley
/// 2002, 2.4): half of the least |q| beyond the main lobe at which it has a maximum of 0.7 or more; a grating lobe has
/// 1. Searches up to `most_rad_per_m`, and no further than lobes of a grid with a pitch of a 115th of the array's sides
/// would be; infinity if there is none.
double alias_wavenumber(const ArrayGeometry& geometry, double most_rad_per_m);

/// Share of a picture's information above which its frame has kFlagInformationMissing: the image's error is then at
/// least a third of its level.
inline constexpr double kMostMissingInformation = 0.1;

/// Share of a picture's information that is lost with unused microphones (docs/how/sonah.md): from 0, nothing, to 1,
/// all. A picture's information is the power that the array reveals of the image on the surface of sonah's prior, with
/// noise 40 dB below the field,
///   I = trace(B (C + n)^-1 B^H),
/// and the share is 1 - I of the used microphones, over I of all. Empty if nothing is missing.
struct MissingInformation {
  std::vector<float> of_frequency;

  /// 0 if nothing is missing.
  [[nodiscard]] float largest() const;
  [[nodiscard]] double at(std::size_t frequency) const;
};

/// Largest number of microphones from which a masked one is predicted.
inline constexpr std::size_t kFillNeighbours = 16;

/// Microphones to be left out, and the prediction that replaces each, laid out for the kernels. Immutable, so that one
/// thread may make it and another use it.
struct MicrophoneMask {
  std::vector<std::int32_t> channels;  ///< row * columns + column, ascending
  /// [masked][kFillNeighbours], row * columns + column, none of them masked; padded with the first neighbour.
  std::vector<std::int32_t> neighbours;
  std::vector<float> weights;  ///< [masked][frequency][kFillNeighbours]; 0 past the last neighbour
  /// For plans that fill from all microphones, else empty: the prediction by sonah's prior (docs/how/sonah.md), which
  /// such plans use instead of that from neighbours; other plans of the same spectra ignore it.
  /// [frequency][masked][row][column], 0 for masked ones.
  std::vector<float> prior_weights;
  MissingInformation missing;  ///< for plans that are imaged; else empty
};

/// Replaces the masked microphones of one frequency's field [row][column] by the predictions that the plan uses. The
/// mask must be of the plan's frequencies.
void fill_masked(std::span<std::complex<double>> field, const MicrophoneMask& mask, const ArrayPlan& plan,
                 std::size_t frequency);

/// The largest number of microphones that a running engine masks: half of the array. With more, the fault is
/// unlikely to be in the microphones.
std::size_t most_maskable(const ArrayGeometry& geometry);

/// The number of masked microphones for which a running engine has room: the plan's and most_maskable().
std::size_t mask_capacity(const ArrayPlan& plan);

}  // namespace nearfield
