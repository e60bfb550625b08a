#pragma once
#include <vector>

#include "core/geometry.hpp"
#include "core/product.hpp"
#include "processors/far_field/position.hpp"

namespace nearfield::far_field {

/// A map with fewer microphones is NaN.
inline constexpr int kFewestMicrophones = 4;
/// A pixel nearer to a microphone is NaN.
inline constexpr double kNearest_m = 1e-3;

/// [channel], relative to the array's centre.
std::vector<Position> microphones_of(const ArrayGeometry& geometry);

/// If positions were given: adds the axis `microphone`, used by no product, with the positions [channel][3].
void add_places(const ArrayGeometry& geometry, ResultHeader& header);

}  // namespace nearfield::far_field
