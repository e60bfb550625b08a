#pragma once

namespace nearfield {

/// Range of clock rates of one-bit microphones; each delivers a bit per clock period.
inline constexpr double kSlowestClock_hz = 1e6;
inline constexpr double kFastestClock_hz = 6.144e6;

/// Range of lengths in settings and files, m: floating point can square and divide them safely.
inline constexpr double kShortestLengthM = 1e-6;
inline constexpr double kLongestLengthM = 100.0;

}  // namespace nearfield
