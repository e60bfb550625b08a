#include "daemon/device_check.hpp"

#include <fmt/format.h>

#include "cl/device.hpp"
#include "core/error.hpp"
#include "engine/devices.hpp"

namespace nearfield::daemon {

std::vector<control::Finding> device_findings(const Settings& settings) {
  using Kind = control::Finding::Kind;
  const auto name_of = [](const ocl::DeviceInfo& info) { return fmt::format("{} ({})", info.name, info.platform); };
  std::vector<control::Finding> findings;
  try {
    const ocl::Device device = ocl::Device::open(settings.device);
    findings.push_back({Kind::kNote, fmt::format("device: {}", name_of(device.info()))});
    const DeviceInfos devices = find_devices(device.info(), settings);
    for (std::size_t i = 0; i < settings.processors.size(); ++i) {
      if (devices.of_processors[i] != 0) {
        findings.push_back({Kind::kNote, fmt::format("device of {}: {}", settings.processors[i].name,
                                                     name_of(devices.all[devices.of_processors[i]]))});
      }
    }
  } catch (const DeviceError& error) {
    findings.push_back(
        {Kind::kProblem,
         fmt::format("device.platform, device.index: {}; \"nearfield devices\" lists them", error.what())});
  } catch (const ConfigError& error) {
    findings.push_back({Kind::kProblem, fmt::format("{}; \"nearfield devices\" lists them", error.what())});
  }
  for (control::Finding& finding : findings) {
    finding.check = "device";
  }
  return findings;
}

}  // namespace nearfield::daemon
