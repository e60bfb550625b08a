#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/array_plan.hpp"
#include "imaging/missing_information.hpp"

namespace nearfield {

/// Largest number of microphones from which a masked one is predicted.
inline constexpr std::size_t kFillNeighbours = 16;

/// Microphones to be left out, and the prediction that replaces each, laid out for the kernels. Immutable, so that one
/// thread may make it and another use it.
struct MicrophoneMask {
  std::vector<std::int32_t> channels;  ///< row * columns + column, ascending
  /// [masked][kFillNeighbours], row * columns + column, none of them masked; padded with the first neighbour.
  std::vector<std::int32_t> neighbours;
  std::vector<float> weights;  ///< [masked][frequency][kFillNeighbours]; 0 past the last neighbour
  /// For plans that fill from all microphones, else empty: the prediction by sonah's prior (docs/sonah.md), which such
  /// plans use instead of that from neighbours; other plans of the same spectra ignore it.
  /// [frequency][masked][row][column], 0 for masked ones.
  std::vector<float> prior_weights;
  MissingInformation missing;  ///< for plans that are imaged; else empty
};

/// Replaces the masked microphones of one frequency's field [row][column] by the predictions that the plan uses. The
/// mask must be of the plan's frequencies.
void fill_masked(std::span<std::complex<double>> field, const MicrophoneMask& mask, const ArrayPlan& plan,
                 std::size_t frequency);

/// Makes the best linear prediction of each masked microphone from the nearest unmasked ones (field_prediction.hpp),
/// for a field that comes from the plan's surface. Masks the plan's dead channels and `channels`, in any order. If
/// there are none, also frees what earlier masks of this plan have cached (prior_fill.hpp).
MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels);

/// The largest number of microphones that a running engine masks: half of the array. With more, the fault is
/// unlikely to be in the microphones.
std::size_t most_maskable(const ArrayGeometry& geometry);

/// The number of masked microphones for which a running engine has room: the plan's and most_maskable().
std::size_t mask_capacity(const ArrayPlan& plan);

}  // namespace nearfield
