#pragma once

namespace nearfield {

/// Clocks of one-bit microphones, a bit from each a period.
inline constexpr double kSlowestClock_hz = 1e6;
inline constexpr double kFastestClock_hz = 6.144e6;

}  // namespace nearfield
