#pragma once
#include <vector>

#include "control/checks/check.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::daemon {

/// The OpenCL devices that a daemon with these settings would use, as notes with their names, or the problem that one
/// of them is not there. Opens the run's and compiles nothing.
std::vector<control::Finding> device_findings(const Settings& settings);

}  // namespace nearfield::daemon
