#pragma once
#include <cmath>
#include <cstdint>

/// Durations in nanoseconds, the unit of the monotonic clock.
namespace nearfield::daemon {

inline constexpr std::int64_t kMillisecondNs = 1'000'000;
inline constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Converts and rounds.
inline std::int64_t nanoseconds(double milliseconds) { return std::llround(milliseconds * kMillisecondNs); }

}  // namespace nearfield::daemon
