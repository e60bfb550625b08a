#pragma once
#include <span>
#include <string>

namespace nearfield {

/// "-0.31 to 0.31 m in x, -0.2 to 0.2 m in y, 0 to 0 m in z" over all positions, [place][x, y, z] in m: reveals a wrong
/// unit, sign or order of axes.
std::string text_of_extent(std::span<const double> xyz_m);

/// A length, rounded to 0 if it is only the rounding error of a mean of 0.
double without_rounding(double length_m);

}  // namespace nearfield
