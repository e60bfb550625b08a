#pragma once
#include <vector>

#include "core/geometry.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield::far_field {

/// Weights of a line of equally spaced microphones, the largest 1. Hann's is sin^2 with its zeros one pitch outside the
/// line, Hamming's is symmetric about it; Dolph (1946) and Taylor (1955) are for side lobes `side_lobe_db` below the
/// main lobe, Taylor's with as many nearly equal ones as that level needs.
std::vector<double> line_shading(Shading shading, int count, double side_lobe_db);

/// [channel]: on a regular grid the product of both lines' weights. Otherwise a line's weight at the distance from the
/// microphones' mean position: the line spans the array's diameter with microphones as far apart as the array's
/// neighbours, and weights between them are interpolated.
std::vector<double> array_shading(const SteeringSettings& steering, const ArrayGeometry& geometry);

}  // namespace nearfield::far_field
