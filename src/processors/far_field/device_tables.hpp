#pragma once
#include <complex>
#include <string>
#include <vector>

#include "imaging/shared/array_plan.hpp"
#include "processors/far_field/position.hpp"

/// Tables for the kernels of far-field imagers.
namespace nearfield::far_field {

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
