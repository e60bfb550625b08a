#pragma once
#include <cstdint>
#include <ctime>
#include <string>

namespace nearfield {

std::string host_name();
/// Changes with every start of the kernel; empty when the system does not say.
std::string boot_id();
/// Nanoseconds of one of the system's clocks, such as CLOCK_TAI.
std::int64_t clock_ns(clockid_t clock);

}  // namespace nearfield
