#pragma once
#include <vector>

#include "control/checks/check.hpp"
#include "core/settings.hpp"

namespace nearfield::daemon {

/// Notes with the names of the OpenCL devices that a daemon with these settings would use, or the problem that one of
/// them is missing. Opens the run's device and compiles nothing.
std::vector<control::Finding> device_findings(const Settings& settings);

}  // namespace nearfield::daemon
