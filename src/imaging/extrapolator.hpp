#pragma once
#include <string>

#include "imaging/pnah.hpp"

/// What the imager's device stages share.
namespace nearfield {

/// A launch over columns x rows x images in tiles of 32 x 4.
ocl::Launch tiles(int columns, int rows, std::size_t images);
/// A float literal for a kernel's macro.
std::string float_define(double value);
/// ROWS, COLUMNS, PADDED_ROWS, PADDED_COLUMNS, BEFORE_ROWS, BEFORE_COLUMNS.
ocl::Defines padding_defines(const PnahPlan& plan);

}  // namespace nearfield
