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

/// Microphones that are not to be used, and the prediction that replaces each, laid out as the kernels read it. It is
/// immutable, so that one thread may make it and another use it.
struct MicrophoneMask {
  std::vector<std::int32_t> channels;  ///< row * columns + column, ascending
  /// [masked][kFillNeighbours], row * columns + column, none of them masked; past the last one the first again.
  std::vector<std::int32_t> neighbours;
  std::vector<float> weights;  ///< [masked][frequency][kFillNeighbours]; 0 past the last neighbour
  /// Of plans that fill from all microphones: the prediction by sonah's prior (docs/sonah.md), which such plans use in
  /// place of that from neighbours; a plan of the same spectra that does not ignores it.
  /// [frequency][masked][row][column], 0 for masked ones; else empty.
  std::vector<float> prior_weights;
  MissingInformation missing;  ///< of plans that are imaged; else empty
};

/// Replaces the masked microphones of one frequency's field [row][column] by the predictions that the plan uses. A mask
/// of the plan's frequencies.
void fill_masked(std::span<std::complex<double>> field, const MicrophoneMask& mask, const ArrayPlan& plan,
                 std::size_t frequency);

/// The best linear prediction of each masked microphone from the nearest ones that are not (field_prediction.hpp), for
/// a field that comes from the plan's surface. Masked are the plan's dead channels and `channels`, in any order.
/// Where none is, also gives back what earlier masks of this plan kept for theirs (prior_fill.hpp).
MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels);

/// The largest number of microphones that a running engine masks: half of the array. With more, the fault is
/// unlikely to be in the microphones.
std::size_t most_maskable(const ArrayGeometry& geometry);

/// The number of masked microphones for which a running engine has room: the plan's and most_maskable().
std::size_t mask_capacity(const ArrayPlan& plan);

}  // namespace nearfield
