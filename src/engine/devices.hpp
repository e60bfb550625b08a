#pragma once
#include <cstddef>
#include <vector>

#include "cl/device.hpp"
#include "nearfield/settings.hpp"

namespace nearfield {

/// The devices that an engine works on.
struct Devices {
  std::vector<ocl::Device> all;            ///< the run's, then those that processors have beside it, each once
  std::vector<std::size_t> of_processors;  ///< [of Settings::processors], an index into `all`
};

/// The same devices, not opened.
struct DeviceInfos {
  std::vector<ocl::DeviceInfo> all;
  std::vector<std::size_t> of_processors;
};

/// Throws ConfigError that names a processor's key where there is no such device.
DeviceInfos find_devices(const ocl::DeviceInfo& runs_device, const Settings& settings);

/// Opens what `settings` have beside `runs_device`. Throws ConfigError as find_devices(), DeviceError where one
/// fails.
Devices open_devices(const ocl::Device& runs_device, const Settings& settings);

}  // namespace nearfield
