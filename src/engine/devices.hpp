#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cl/device.hpp"
#include "core/settings.hpp"

namespace nearfield {

/// The devices that an engine works on.
struct Devices {
  std::vector<ocl::Device> all;            ///< the run's, then other devices of processors, each once
  std::vector<std::size_t> of_processors;  ///< [processor of Settings::processors], index into `all`
};

/// Like Devices, but without opening them.
struct DeviceInfos {
  std::vector<ocl::DeviceInfo> all;
  std::vector<std::size_t> of_processors;
};

/// Throws ConfigError naming the processor's key where there is no such device.
DeviceInfos find_devices(const ocl::DeviceInfo& runs_device, const Settings& settings);

/// Opens the devices that `settings` name besides `runs_device`. Throws ConfigError as find_devices(), and DeviceError
/// where a device cannot be opened.
Devices open_devices(const ocl::Device& runs_device, const Settings& settings);

/// True if kernels give identical bits on both: equal names, platforms, versions and drivers.
bool are_alike(const ocl::DeviceInfo& a, const ocl::DeviceInfo& b);

/// The devices of the option `--devices`: each text is as for `--device`, applied on top of `usual`. Throws UsageError
/// where a text is invalid or names a device twice, and DeviceError where there is no such device or, unless
/// `are_unlike_allowed`, it is not alike to the first one.
std::vector<DeviceSettings> choose_devices(const DeviceSettings& usual, const std::vector<std::string>& texts,
                                           bool are_unlike_allowed);

/// The first two devices of this machine that are alike, GPUs first. Throws DeviceError where there are none.
std::vector<DeviceSettings> choose_alike_devices(const DeviceSettings& usual);

}  // namespace nearfield
