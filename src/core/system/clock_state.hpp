#pragma once
#include <optional>
#include <string>

namespace nearfield {

/// What the kernel says of the system's clock (adjtimex(2)), which a program such as chrony, ptp4l with phc2sys or
/// systemd-timesyncd sets. Errors are against UTC.
struct ClockState {
  bool is_synchronised = false;  ///< STA_UNSYNC is not set
  double most_error_s = 0.0;     ///< maxerror: grows by 500 us a second since the clock was set last
  double likely_error_s = 0.0;   ///< esterror: as that program estimates it; 0 where it says nothing
  int tai_offset_s = 0;          ///< CLOCK_TAI - CLOCK_REALTIME; 0 where no program has set it
};

/// The state, or std::nullopt where the kernel refuses to say it, as in a service whose filter forbids adjtimex; then
/// `*why` says so in words. `why` may be null.
std::optional<ClockState> read_clock_state(std::string* why = nullptr);

}  // namespace nearfield
