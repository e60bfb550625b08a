#pragma once
#include "core/geometry.hpp"

namespace nearfield {

/// Wavenumber above which an array confuses waves of different directions, rad/m. On a regular grid pi/pitch. Elsewhere
/// from the array's pattern, |sum over microphones of e^{j q.r}| over their number, which states how alike waves of
/// wave vectors q apart look, for q up to 2 k in the array's plane (H. L. Van Trees, "Optimum Array Processing", Wiley
/// 2002, 2.4): half of the least |q| beyond the main lobe at which it has a maximum of 0.7 or more; a grating lobe has
/// 1. Searches up to `most_rad_per_m`, and no further than lobes of a grid with a pitch of a 115th of the array's sides
/// would be; infinity if there is none.
double alias_wavenumber(const ArrayGeometry& geometry, double most_rad_per_m);

}  // namespace nearfield
