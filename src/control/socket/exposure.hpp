#pragma once
#include <string>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::control {

/// Parts of a configuration that other machines can reach without a password or a key, one warning each: the possible
/// actions of a client that reaches the port, and the setting that prevents them. Empty if all is on loopback.
std::vector<std::string> exposure_warnings(const DaemonSettings& daemon);

}  // namespace nearfield::control
