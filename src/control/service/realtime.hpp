#pragma once
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::control {

/// Gives the calling thread, and threads it starts from then on, the SCHED_FIFO priority and the processors of the
/// settings, and locks the process's memory. Returns a warning, with its remedy, for each part that was not permitted
/// or not possible; the thread then continues unchanged.
std::vector<std::string> apply_realtime(const DaemonSettings::Realtime& settings);

/// Takes the calling thread back to the ordinary scheduler. Threads inherit their starter's: threads that serve users
/// (control, metrics, log) call this first.
void leave_realtime();

/// Gives the calling thread, and threads it starts from then on, a nice value of 10: when others use all processors,
/// they get a tenth of another's time.
void lower_priority();

}  // namespace nearfield::control
