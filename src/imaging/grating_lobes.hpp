#pragma once
#include "nearfield/geometry.hpp"

namespace nearfield {

/// The wavenumber above which an array takes waves of one direction for those of another, rad/m. On a regular grid
/// pi/pitch. Elsewhere by the array's pattern, |sum over microphones of e^{j q.r}| over their number, which says how
/// alike waves of wave vectors q apart look, q up to 2 k in the array's plane (H. L. Van Trees, "Optimum Array
/// Processing", Wiley 2002, 2.4): half of the least |q| beyond the main lobe at which it has a maximum of 0.7 or more,
/// as a grating lobe has 1. Looks up to `most_rad_per_m`, and no further than lobes of a grid with a pitch of a 115th
/// of the array's sides would be; infinity where there is none.
double alias_wavenumber(const ArrayGeometry& geometry, double most_rad_per_m);

}  // namespace nearfield
