#include "imaging/pnah.hpp"

#include <fmt/format.h>

#include "imaging/fused_pnah.hpp"
#include "imaging/staged_pnah.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

std::unique_ptr<PnahPath> make_path(const ocl::Device& device, const PnahPlan& plan) {
  validate(plan);
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

Pnah::Pnah(const ocl::Device& device, const PnahPlan& plan) : path_(make_path(device, plan)) {}

}  // namespace nearfield
