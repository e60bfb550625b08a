#include "stream/sources/pacer.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/system/clocks.hpp"

namespace nearfield {

Pacer::Pacer(double rate_hz) : rate_hz_(rate_hz), start_ns_(monotonic_ns()) {}

void Pacer::sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

bool Pacer::wait_for(std::uint64_t count) const {
  constexpr std::int64_t kLongestNs = 20'000'000;
  // Doubles hold a month of nanoseconds to better than a microsecond.
  const std::int64_t due_ns = start_ns_ + std::llround(static_cast<double>(count) / rate_hz_ * kNsPerSecond);
  const std::int64_t until_ns = std::min(due_ns, monotonic_ns() + kLongestNs);
  const timespec until{until_ns / kNsPerSecond, until_ns % kNsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);  // a signal may end it early
  return monotonic_ns() >= due_ns;
}

}  // namespace nearfield
