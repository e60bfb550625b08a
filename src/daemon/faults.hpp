#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace nearfield::daemon {

/// Faults for tests; empty functions: none.
struct Faults {
  std::function<void(std::uint64_t sequence)> frame;  ///< called on the engine's thread when a frame is computed
  std::function<void()> start;                        ///< called once, before the command line is read
  std::function<void()> warming;                      ///< called by the child process before it compiles
  std::function<void()> web;                          ///< called once, on the thread that serves HTTP
  std::function<void()> source;                       ///< called once, on the source's thread
  std::function<void()> control;                      ///< called on the control thread, with each `config`
  std::function<void()> mask;                         ///< called on the engine's thread when masks are changed
  double turn_limit_s = 0.0;                          ///< longest turn of these two threads; 0: the usual one
  double warming_limit_s = 0.0;                       ///< limit for the child process; 0: the usual one
};

/// Faults that tests set in $NEARFIELDD_FAULT; linked into nearfieldd_faulty only:
///   hang:N          frame N never ends
///   device:N        frame N fails as if the device had
///   crash:N         frame N writes to memory that is not there
///   overflow:N      frame N overflows the stack of the engine's thread
///   slow:A:B:US     frames A to B-1 take US microseconds longer, with the processor busy
///   web-hang:S      the thread that serves HTTP hangs for S seconds, soon after the start
///   source-hang:FILE   the source's thread hangs as long as there is this file; a turn of it may take 1 s
///   control-hang:FILE  the control thread hangs likewise, when it is asked for the configuration
///   start-hang:FILE the start waits, before the command line is read, as long as there is this file
///   warm-hang:S     the child process that warms a new configuration never ends; the daemon gives it S seconds
///   warm-crash      the child process that warms a new configuration ends by SIGSEGV
///   mask-device     a change of masks fails as if the device had
/// Empty: no fault. Throws UsageError.
Faults faults_of(const std::string& text);

}  // namespace nearfield::daemon
