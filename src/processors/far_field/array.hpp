#pragma once
#include <vector>

#include "nearfield/geometry.hpp"
#include "nearfield/product.hpp"
#include "processors/far_field/position.hpp"

namespace nearfield::far_field {

/// Microphones that a map needs; one of fewer is NaN.
inline constexpr int kFewestMicrophones = 4;
/// A pixel nearer to a microphone is NaN.
inline constexpr double kNearest_m = 1e-3;

/// [channel], from the array's centre.
std::vector<Position> microphones_of(const ArrayGeometry& geometry);

/// Where positions were given: adds the axis `microphone`, which no product has, of these places [channel][3].
void add_places(const ArrayGeometry& geometry, ResultHeader& header);

}  // namespace nearfield::far_field
