#pragma once
#include <string>

#include "nearfield/error.hpp"

namespace nearfield::daemon {

/// Says why and ends the process at once: no destructor runs, no queue is waited for, as what is broken may be what
/// they would wait for. What recordings and rings hold so far stays readable.
[[noreturn]] void end_process(ExitCode code, const std::string& why);

}  // namespace nearfield::daemon
