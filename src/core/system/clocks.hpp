#pragma once
#include <cstdint>
#include <ctime>

namespace nearfield {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// Nanoseconds of one of the system's clocks, such as CLOCK_REALTIME.
std::int64_t clock_ns(clockid_t clock);
/// CLOCK_MONOTONIC, ns.
std::int64_t monotonic_ns();
/// Offset of CLOCK_TAI from CLOCK_MONOTONIC, ns.
std::int64_t tai_offset_ns();

}  // namespace nearfield
