#include "core/system/clocks.hpp"

#include <sys/timex.h>

#include <cerrno>
#include <system_error>

namespace nearfield {

std::int64_t clock_ns(clockid_t clock) {
  std::timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::int64_t tai_offset_ns() { return clock_ns(CLOCK_TAI) - monotonic_ns(); }

std::optional<ClockState> read_clock_state(std::string* why) {
  constexpr double kMicrosecond_s = 1e-6;
  timex state{};  // no mode: sets nothing, so needs no privilege
  if (adjtimex(&state) < 0) {
    if (why != nullptr) {
      *why = "adjtimex: " + std::generic_category().message(errno);
    }
    return std::nullopt;
  }
  return ClockState{.is_synchronised = (static_cast<unsigned>(state.status) & STA_UNSYNC) == 0,
                    .most_error_s = kMicrosecond_s * static_cast<double>(state.maxerror),
                    .likely_error_s = kMicrosecond_s * static_cast<double>(state.esterror),
                    .tai_offset_s = state.tai};
}

}  // namespace nearfield
