#pragma once
#include <cmath>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace nearfield {

inline constexpr std::int64_t kNsPerMicrosecond = 1'000;
inline constexpr std::int64_t kNsPerMillisecond = 1'000'000;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
inline constexpr double kMsPerNs = 1e-6;
inline constexpr double kSecondsPerNs = 1e-9;

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

/// State of the system's clock from the kernel (adjtimex(2)), set by a program such as chrony, ptp4l with phc2sys or
/// systemd-timesyncd. Errors are relative to UTC.
struct ClockState {
  bool is_synchronised = false;  ///< STA_UNSYNC is not set
  double most_error_s = 0.0;     ///< maxerror: grows by 500 us a second since the clock was last set
  double likely_error_s = 0.0;   ///< esterror: that program's estimate; 0 if it gives none
  int tai_offset_s = 0;          ///< CLOCK_TAI - CLOCK_REALTIME; 0 if no program has set it
};

/// The state, or std::nullopt if the kernel denies it, as in a service whose filter forbids adjtimex; then `*why` has
/// the reason in words. `why` may be null.
std::optional<ClockState> read_clock_state(std::string* why = nullptr);

}  // namespace nearfield
