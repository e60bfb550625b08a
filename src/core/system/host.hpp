#pragma once
#include <string>

namespace nearfield {

std::string host_name();
/// The kernel's UUID, which changes with every start of the kernel; empty where it cannot be read (a service that sees
/// only processes in /proc).
std::string boot_id();

}  // namespace nearfield
