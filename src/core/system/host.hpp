#pragma once
#include <string>

namespace nearfield {

std::string host_name();
/// The kernel's boot UUID, which changes at each boot; empty if it cannot be read (a service with ProcSubset=pid).
std::string boot_id();
/// Memory that programs can still allocate without swapping, bytes (MemAvailable of /proc/meminfo); infinite if it
/// cannot be read.
double available_memory_bytes();

/// Processors that the calling thread may run on, at least 1.
int usable_processors();

}  // namespace nearfield
