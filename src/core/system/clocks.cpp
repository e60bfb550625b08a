#include "core/system/clocks.hpp"

namespace nearfield {

std::int64_t clock_ns(clockid_t clock) {
  std::timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

std::int64_t tai_offset_ns() { return clock_ns(CLOCK_TAI) - monotonic_ns(); }

}  // namespace nearfield
