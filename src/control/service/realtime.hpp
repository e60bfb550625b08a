#pragma once
#include <string>
#include <vector>

#include "nearfield/daemon_settings.hpp"

namespace nearfield::control {

/// Gives the calling thread, and threads it starts from then on, the SCHED_FIFO priority and the processors of the
/// settings, and locks the process's memory. Returns what was not permitted or not possible, one warning each, with its
/// cure; the thread then continues unchanged.
std::vector<std::string> apply_realtime(const DaemonSettings::Realtime& settings);

/// Takes the calling thread back to the ordinary scheduler. Threads inherit their starter's: threads that serve users
/// (control, metrics, log) call this first.
void leave_realtime();

/// Gives the calling thread, and threads it starts from then on, a nice value of 10: where others use all processors,
/// they have a tenth of another's time.
void lower_priority();

}  // namespace nearfield::control
