#pragma once

namespace nearfield {

/// Range of lengths in settings and files, m: floating point can square and divide them safely.
inline constexpr double kShortestLengthM = 1e-6;
inline constexpr double kLongestLengthM = 100.0;

}  // namespace nearfield
