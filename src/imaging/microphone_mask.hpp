#pragma once
#include <complex>
#include <cstdint>
#include <vector>

#include "imaging/array_plan.hpp"

namespace nearfield {

/// Microphones that a masked one is made of, at most.
inline constexpr std::size_t kFillNeighbours = 16;

/// Microphones that are not to be used, and what stands in for each: as the kernels take it. Never changes once it is
/// made, so that it can be made on one thread and used on another.
struct MicrophoneMask {
  std::vector<std::int32_t> channels;  ///< row * columns + column, ascending
  /// [masked][kFillNeighbours], row * columns + column, none of them masked; past the last one the first again.
  std::vector<std::int32_t> neighbours;
  std::vector<float> weights;  ///< [masked][frequency][kFillNeighbours]; 0 past the last neighbour
};

/// The best linear prediction of each masked microphone from the nearest ones that are not (field_prediction.hpp), for
/// a field that comes from the plan's surface. Masked are the plan's dead channels and `channels`, in any order.
MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels);

/// How many are too many to be masked in a running engine: a quarter of the array. Above that it is not the microphones
/// that are wrong.
std::size_t most_maskable(const ArrayGeometry& geometry);

/// Masked microphones that there is room for in a running engine: the plan's and most_maskable().
std::size_t mask_capacity(const ArrayPlan& plan);

}  // namespace nearfield
