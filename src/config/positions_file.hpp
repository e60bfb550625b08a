#pragma once
#include <optional>
#include <string>

#include "core/geometry.hpp"

namespace nearfield {

/// The array whose microphone positions a file gives, one per channel of the input, in its order: CSV with the header
/// line x_m,y_m,z_m, or Acoular's XML, whose elements `pos` have the attributes x, y and z. Lengths are metres. `axes`
/// maps the file's columns to the axes of images; without it CSV has those axes, and in XML z points the other way,
/// from the array to the sources. Throws ConfigError if there is no such file, DataError if it does not hold the
/// positions of an array; messages name the setting, array.positions.
ArrayGeometry read_positions(const std::string& path, const std::optional<AxesOfFile>& axes = {});

}  // namespace nearfield
