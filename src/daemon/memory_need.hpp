#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "nearfield/settings.hpp"

namespace nearfield::daemon {

/// What one part of a configuration keeps in memory for as long as it runs, at least.
struct MemoryNeed {
  std::string key;
  std::string what;           ///< with its size, for a message
  double host_bytes = 0.0;    ///< of this machine
  double device_bytes = 0.0;  ///< of its device, which is this machine's memory where the device is a processor
  std::size_t device = 0;     ///< 0: the run's; else a number of DeviceInfos
};

/// Memory in bytes.
struct MemoryRoom {
  double host_bytes = 0.0;
  std::optional<double> device_bytes = {};                ///< of the run's device, where it has memory of its own
  std::vector<std::optional<double>> other_devices = {};  ///< likewise, from number 1 on
};

/// Images and ring slots, and the history of an armed recorder: all that a new configuration allocates. `settings` must
/// carry the input's own geometry; `devices` are the processors', as DeviceInfos has them.
std::vector<MemoryNeed> needs_of_epoch(const Settings& settings, const std::vector<std::size_t>& devices = {});
/// The ring of bits between source and engine, which is there from the start; of sources that the settings alone
/// describe (udp, pipe).
std::vector<MemoryNeed> needs_of_source(const Settings& settings);

/// What is free here (MemAvailable of /proc/meminfo) and on `devices`, if any are given.
MemoryRoom memory_room(std::span<const ocl::DeviceInfo> devices);

/// One message for each memory that is too small, naming the key of the largest need; empty when all fits.
std::vector<std::string> memory_problems(const std::vector<MemoryNeed>& needs, const MemoryRoom& room);

/// Throws ConfigError with those messages.
void require_memory(const std::vector<MemoryNeed>& needs, const MemoryRoom& room);

}  // namespace nearfield::daemon
