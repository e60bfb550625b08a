#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "publish/exports/export_source.hpp"

/// Exported values in the order of MATLAB and Octave, whose first dimension is the fastest.
namespace nearfield {

/// Dimensions of the values, fastest first, and names of the axes: rows, columns (or points), planes, then the other
/// axes, frames last, so that values(:, :, 1, 2) is an image.
struct MatlabShape {
  std::vector<std::int32_t> dimensions;
  std::string axes;                  ///< "y,x,z,frequency,frame"
  std::vector<std::size_t> offsets;  ///< offsets of one frame's values in that order
};

MatlabShape matlab_shape(const ExportSource& source);

/// "frequency_hz": the axis and its unit if that consists of letters, like names of further axes in images.h5.
std::string matlab_axis_name(const Axis& axis);

/// Positions and normals of the pixels of a surface that is no plane, in the order of an image's values; empty for
/// others.
std::vector<Axis> matlab_surface(const ExportSource& source);

/// The real or imaginary parts of a frame in the order of the shape.
std::vector<double> matlab_values(const ExportSource& source, const MatlabShape& shape, std::uint64_t frame,
                                  bool is_imaginary);

}  // namespace nearfield
