#pragma once

namespace nearfield {

/// Lengths that settings and files may give, m: floating point squares and divides them without harm.
inline constexpr double kShortestLengthM = 1e-6;
inline constexpr double kLongestLengthM = 100.0;

}  // namespace nearfield
