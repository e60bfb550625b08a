#pragma once
#include <string>
#include <vector>

#include "nearfield/daemon_settings.hpp"

namespace nearfield::control {

/// What of a configuration is reachable from other machines without a password or a key, one warning each: what a
/// client that reaches the port can do, and which setting prevents it. Empty when all is on loopback.
std::vector<std::string> exposure_warnings(const DaemonSettings& daemon);

}  // namespace nearfield::control
