#include "engine/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/device_choice.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

ocl::DeviceInfo find_device_of(const Settings& settings, const ProcessorSettings& processor) {
  try {
    return ocl::find_device(device_of(settings, processor));
  } catch (const DeviceError& error) {
    std::string_view reason = error.what();
    for (const std::string_view key : {"device.platform: ", "device.index: "}) {
      reason.remove_prefix(reason.starts_with(key) ? key.size() : 0);
    }
    throw ConfigError(
        fmt::format("processors.{}.device: \"{}\": {}", processor.name, processor.device.value_or(""), reason));
  }
}

}  // namespace

DeviceInfos find_devices(const ocl::DeviceInfo& runs_device, const Settings& settings) {
  DeviceInfos devices{.all = {runs_device}, .of_processors = {}};
  for (const ProcessorSettings& processor : settings.processors) {
    const ocl::DeviceInfo wanted = processor.device ? find_device_of(settings, processor) : runs_device;
    const auto known = std::find_if(devices.all.begin(), devices.all.end(),
                                    [&](const ocl::DeviceInfo& device) { return device.number == wanted.number; });
    devices.of_processors.push_back(static_cast<std::size_t>(known - devices.all.begin()));
    if (known == devices.all.end()) {
      devices.all.push_back(wanted);
    }
  }
  return devices;
}

Devices open_devices(const ocl::Device& runs_device, const Settings& settings) {
  Devices devices{.all = {runs_device}, .of_processors = find_devices(runs_device.info(), settings).of_processors};
  for (std::size_t i = 0; i < settings.processors.size(); ++i) {
    if (devices.of_processors[i] == devices.all.size()) {
      try {
        devices.all.push_back(ocl::Device::open(device_of(settings, settings.processors[i])));
      } catch (const DeviceError& error) {
        throw DeviceError(fmt::format("processors.{}.device: {}", settings.processors[i].name, error.what()));
      }
    }
  }
  return devices;
}

}  // namespace nearfield
