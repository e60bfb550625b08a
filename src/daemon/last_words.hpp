#pragma once
#include <string>

#include "core/error.hpp"

namespace nearfield::daemon {

/// Logs the reason and ends the process immediately: no destructor runs and no queue is emptied, since these could wait
/// for the part that failed. Recordings and rings remain readable.
[[noreturn]] void end_process(ExitCode code, const std::string& why);

}  // namespace nearfield::daemon
