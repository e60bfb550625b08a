#pragma once
#include <filesystem>
#include <vector>

#include "nearfield/product.hpp"
#include "publish/pictures/picture.hpp"

namespace nearfield {

/// Draws powers relative to their largest value over one axis as a curve, into pattern_NAME.png of the folder: linear
/// amplitudes from 0 to 1, or with options.decibels levels from options.floor_db to 0. `values` [entry of the axis],
/// NaN where missing. Throws IoError.
void write_pattern_picture(const std::filesystem::path& directory, const ResultHeader& header, const Axis& axis,
                           const std::vector<float>& values, const PictureOptions& options);

}  // namespace nearfield
