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

/// Leaves real time, and has the calling thread, and those that it starts from then on, wait where all processors are
/// wanted by others: of two cores that compute frames, a search gets what these leave and a tenth.
void step_back();

}  // namespace nearfield::control
