#pragma once
#include <complex>
#include <string>
#include <vector>

#include "core/geometry.hpp"
#include "core/product.hpp"
#include "imaging/shared/array_plan.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield::far_field {

/// A map with fewer microphones is NaN.
inline constexpr int kFewestMicrophones = 4;
/// A pixel nearer to a microphone is NaN.
inline constexpr double kNearest_m = 1e-3;

/// [channel], relative to the array's centre.
std::vector<Position> microphones_of(const ArrayGeometry& geometry);

/// If positions were given: adds the axis `microphone`, used by no product, with the positions [channel][3].
void add_places(const ArrayGeometry& geometry, ResultHeader& header);

/// Weights of a line of equally spaced microphones, the largest 1. Hann's is sin^2 with its zeros one pitch outside the
/// line, Hamming's is symmetric about it; Dolph (1946) and Taylor (1955) are for side lobes `side_lobe_db` below the
/// main lobe, Taylor's with as many nearly equal ones as that level needs.
std::vector<double> line_shading(Shading shading, int count, double side_lobe_db);

/// [channel]: on a regular grid the product of both lines' weights. Otherwise a line's weight at the distance from the
/// microphones' mean position: the line spans the array's diameter with microphones as far apart as the array's
/// neighbours, and weights between them are interpolated.
std::vector<double> array_shading(const SteeringSettings& steering, const ArrayGeometry& geometry);

/// Layout of a kernel's float4.
struct alignas(16) Float4 {
  float x, y, z, w;
};
Float4 float4_of(const Position& position, double fourth);

/// [channel], with the squared distance from the array's centre in w.
std::vector<Float4> position_table(const std::vector<Position>& microphones);
/// [frequency][channel]; without a calibration one value that no kernel reads.
std::vector<std::complex<float>> gain_table(const ArrayPlan& array);
/// Formats a value as an OpenCL float literal for -D.
std::string literal(double value);

}  // namespace nearfield::far_field
