#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace nearfield::daemon {

/// Faults for tests; empty functions: none.
struct Faults {
  std::function<void(std::uint64_t sequence)> frame;  ///< called on the engine's thread where a frame is computed
  std::function<void()> warming;                      ///< called by the child process before it compiles
  double warming_limit_s = 0.0;                       ///< how long the daemon waits for it; 0: as always
};

/// Faults that tests set in $NEARFIELDD_FAULT; linked into nearfieldd_faulty alone:
///   hang:N          frame N never ends
///   device:N        frame N fails as if the device had
///   slow:A:B:US     frames A to B-1 take US microseconds longer, with the processor busy
///   warm-hang:S     the child process that warms a new configuration never ends; the daemon gives it S seconds
///   warm-crash      the child process that warms a new configuration ends by SIGSEGV
/// Empty: no fault. Throws UsageError.
Faults faults_of(const std::string& text);

}  // namespace nearfield::daemon
