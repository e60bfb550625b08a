#pragma once
#include <string>
#include <vector>

#include "core/microphones.hpp"
#include "core/product.hpp"
#include "processors/far_field/settings.hpp"

namespace nearfield::far_field {

/// Pixels of a processor.
struct Grid {
  std::vector<Axis> axes;        ///< axes of the pixels, slowest first
  std::vector<Position> pixels;  ///< m, or directions of length 1 where they are far; NaN where undefined
  bool is_far = false;           ///< true: plane waves
};

/// `standoff_m` is the array plane's position on the axes of images; `key` names the setting in messages. Throws
/// ConfigError for too many pixels, and what read_points() throws.
Grid make_grid(const GridSettings& settings, double standoff_m, const std::string& key,
               const ArrayFiles* files = nullptr);

/// Points of a CSV file (x_m,y_m,z_m per line, # begins a comment), or of a non-text file, such as HDF5, read through
/// `files`: [point][x, y, z] in m. Throws NoInputError, DataError, and ConfigError above `most` points; `key` names the
/// setting in messages.
std::vector<double> read_points(const std::string& path, std::size_t most, const std::string& key,
                                const ArrayFiles* files);

}  // namespace nearfield::far_field
