#pragma once
#include <cmath>
#include <cstdint>
#include <ctime>

namespace nearfield {

inline constexpr std::int64_t kNsPerMicrosecond = 1'000;
inline constexpr std::int64_t kNsPerMillisecond = 1'000'000;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// Rounded to whole nanoseconds.
inline std::int64_t nanoseconds(double milliseconds) {
  return std::llround(milliseconds * static_cast<double>(kNsPerMillisecond));
}

/// Nanoseconds of one of the system's clocks, such as CLOCK_REALTIME.
std::int64_t clock_ns(clockid_t clock);
/// CLOCK_MONOTONIC, ns.
std::int64_t monotonic_ns();
/// Offset of CLOCK_TAI from CLOCK_MONOTONIC, ns.
std::int64_t tai_offset_ns();

}  // namespace nearfield
