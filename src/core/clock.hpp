#pragma once

namespace nearfield {

/// Range of clock rates of one-bit microphones; each delivers a bit per clock period.
inline constexpr double kSlowestClock_hz = 1e6;
inline constexpr double kFastestClock_hz = 6.144e6;

}  // namespace nearfield
