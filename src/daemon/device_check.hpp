#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "control/checks/check.hpp"
#include "core/settings.hpp"

namespace nearfield::daemon {

/// Least memory that one part of a configuration holds for as long as it runs.
struct MemoryNeed {
  std::string key;
  std::string what;           ///< description with its size, for a message
  double host_bytes = 0.0;    ///< memory of this machine
  double device_bytes = 0.0;  ///< memory of its device, which is this machine's if the device is a processor
  std::size_t device = 0;     ///< 0: the run's device; else a number of DeviceInfos
};

/// Free memory in bytes.
struct FreeMemory {
  double host_bytes = 0.0;
  std::optional<double> device_bytes = {};                ///< on the run's device, if it has its own memory
  std::vector<std::optional<double>> other_devices = {};  ///< likewise, from number 1 on
};

/// Memory that a new configuration allocates: images and ring slots, and the history of an armed recorder. `settings`
/// must carry the input's own geometry; `devices` are the processors', in the order of DeviceInfos.
std::vector<MemoryNeed> needs_of_epoch(const Settings& settings, const std::vector<std::size_t>& devices = {});
/// Memory of the ring of bits between source and engine, allocated at the start; for sources that the settings alone
/// describe (udp, pipe).
std::vector<MemoryNeed> needs_of_source(const Settings& settings);

/// Free memory of this machine (MemAvailable of /proc/meminfo) and of `devices`, if any are given.
FreeMemory free_memory(std::span<const ocl::DeviceInfo> devices);

/// One message for each memory that is too small, naming the key of the largest need; empty when all fits.
std::vector<std::string> memory_problems(const std::vector<MemoryNeed>& needs, const FreeMemory& room);

/// Throws ConfigError with those messages.
void require_memory(const std::vector<MemoryNeed>& needs, const FreeMemory& room);

/// Notes with the names of the OpenCL devices that a daemon with these settings would use, or the problem that one of
/// them is missing. Opens the run's device and compiles nothing.
std::vector<control::Finding> device_findings(const Settings& settings);

}  // namespace nearfield::daemon
