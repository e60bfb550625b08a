#pragma once
#include <vector>

#include "control/checks/check.hpp"

namespace nearfield::daemon {

/// The OpenCL device that a daemon with these settings would use, as a note with its name, or the problem that there is
/// none. Opens it and compiles nothing.
std::vector<control::Finding> device_findings(const DeviceSettings& settings);

}  // namespace nearfield::daemon
