#pragma once
#include <cstddef>
#include <string>
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

/// Whether kernels compute the same on both, to the last bit: equal names, platforms, versions and drivers.
bool are_alike(const ocl::DeviceInfo& a, const ocl::DeviceInfo& b);

/// The devices of an option `--devices`, each by a text that `--device` takes, beside what `usual` says. Throws
/// UsageError where a text is none or the device of another text, and DeviceError where there is no such device or,
/// unless `are_unlike_allowed`, it is not alike to the first one.
std::vector<DeviceSettings> choose_devices(const DeviceSettings& usual, const std::vector<std::string>& texts,
                                           bool are_unlike_allowed);

/// The first two devices of this machine that are alike, GPUs first. Throws DeviceError where there are none.
std::vector<DeviceSettings> choose_alike_devices(const DeviceSettings& usual);

}  // namespace nearfield
