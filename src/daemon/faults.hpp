#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace nearfield::daemon {

/// Faults that tests ask for in $NEARFIELDD_FAULT, where a frame is computed:
///   hang:N          frame N never ends
///   device:N        frame N fails as if the device had
///   slow:A:B:US     frames A to B-1 take US microseconds longer, with the processor busy
/// Empty: no fault. Throws UsageError.
std::function<void(std::uint64_t sequence)> fault_of(const std::string& text);

}  // namespace nearfield::daemon
