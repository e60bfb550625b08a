#include "engine/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/device_choice.hpp"
#include "core/error.hpp"

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

bool are_alike(const ocl::DeviceInfo& a, const ocl::DeviceInfo& b) {
  return a.name == b.name && a.platform == b.platform && a.version == b.version && a.driver == b.driver;
}

std::vector<DeviceSettings> choose_devices(const DeviceSettings& usual, const std::vector<std::string>& texts,
                                           bool are_unlike_allowed) {
  const auto in_words = [](const ocl::DeviceInfo& info) {
    return fmt::format("{} ({}, driver {})", info.name, info.platform, info.driver);
  };
  std::vector<DeviceSettings> chosen;
  std::vector<ocl::DeviceInfo> infos;
  for (const std::string& text : texts) {
    if (!is_device_choice(text)) {
      throw UsageError(fmt::format("--devices: expected {}, found \"{}\"", kDeviceChoice, text));
    }
    choose_device(chosen.emplace_back(usual), text);
    infos.push_back(ocl::find_device(chosen.back()));
    for (std::size_t i = 0; i + 1 < infos.size(); ++i) {
      if (infos[i].number == infos.back().number) {
        throw UsageError(fmt::format("--devices: expected each device once, found \"{}\" and \"{}\", which are both {}",
                                     texts[i], text, in_words(infos[i])));
      }
    }
    if (!are_unlike_allowed && !are_alike(infos.front(), infos.back())) {
      throw DeviceError(
          fmt::format("--devices: expected devices that are alike, found {} and {}, whose frames may "
                      "differ in the last bits; --allow-unlike accepts that",
                      in_words(infos.front()), in_words(infos.back())));
    }
  }
  return chosen;
}

std::vector<DeviceSettings> choose_alike_devices(const DeviceSettings& usual) {
  std::vector<ocl::DeviceInfo> infos = ocl::list_devices();
  std::stable_partition(infos.begin(), infos.end(), [](const ocl::DeviceInfo& info) { return info.is_gpu; });
  for (std::size_t i = 0; i < infos.size(); ++i) {
    for (std::size_t j = i + 1; j < infos.size(); ++j) {
      if (are_alike(infos[i], infos[j])) {
        DeviceSettings any = usual;
        any.platform = DeviceSettings().platform;
        std::vector<DeviceSettings> both(2, any);
        both[0].index = static_cast<int>(i);
        both[1].index = static_cast<int>(j);
        return both;
      }
    }
  }
  throw DeviceError(
      fmt::format("expected two OpenCL devices that are alike, found {}; --devices names others",
                  infos.empty() ? "none" : fmt::format("{} devices, each of another kind", infos.size())));
}

}  // namespace nearfield
