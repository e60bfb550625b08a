#include "imaging/pnah/pnah.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "imaging/pnah/fused_pnah.hpp"
#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/pnah/staged_pnah.hpp"
#include "imaging/shared/imager_reference.hpp"

namespace nearfield {
namespace {

/// Always empty: the staged path supports every plan.
std::string no_obstacle(const ocl::DeviceInfo& /*device*/, const ImagePlan& /*plan*/) { return {}; }

std::unique_ptr<Imager> make_pnah(const ocl::Device& device, const ImagePlan& plan) {
  if (plan.fft == "clfft") {
    return std::make_unique<StagedPnah>(device, plan);
  }
  const std::string obstacle = obstacle_to_fusing(device.info(), plan);
  if (obstacle.empty()) {
    return std::make_unique<FusedPnah>(device, plan, default_tuning(device.info(), plan));
  }
  if (plan.fft == "fused") {
    throw ConfigError(fmt::format("device.fft: fused cannot do {}; use auto or clfft", obstacle));
  }
  return std::make_unique<StagedPnah>(device, plan);
}

}  // namespace

ImagerEntry pnah_imager() {
  return {
      .kind = ImagerKind::kPnah, .obstacle = no_obstacle, .make = make_pnah, .make_reference = reference::make_pnah};
}

}  // namespace nearfield
