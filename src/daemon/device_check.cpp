#include "daemon/device_check.hpp"

#include <fmt/format.h>

#include "cl/device.hpp"
#include "nearfield/error.hpp"

namespace nearfield::daemon {

std::vector<control::Finding> device_findings(const DeviceSettings& settings) {
  using Kind = control::Finding::Kind;
  try {
    const ocl::Device device = ocl::Device::open(settings);
    return {{Kind::kNote, fmt::format("device: {} ({})", device.info().name, device.info().platform)}};
  } catch (const DeviceError& error) {
    return {{Kind::kProblem,
             fmt::format("device.platform, device.index: {}; \"nearfield devices\" lists them", error.what())}};
  }
}

}  // namespace nearfield::daemon
