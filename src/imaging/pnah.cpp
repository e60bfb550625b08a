#include "imaging/pnah.hpp"

#include <fmt/format.h>

#include "imaging/fused_pnah.hpp"
#include "imaging/staged_pnah.hpp"
#include "nearfield/error.hpp"

namespace nearfield {
namespace {

/// Where part of a buffer may begin on any device.
constexpr std::size_t kPartBytes = 4096;

std::size_t image_values(const PnahPlan& plan) {
  return plan.holography.planes_m.size() * plan.holograms() *
         static_cast<std::size_t>(plan.image_rows() * plan.image_columns());
}

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

PnahPath::PnahPath(const ocl::Device& device, const PnahPlan& plan)
    : images_offset_(
          ocl::round_up(static_cast<std::size_t>(plan.batch) * kStatusWords * sizeof(std::uint32_t), kPartBytes) /
          sizeof(std::complex<float>)),
      results_(device.allocate<std::complex<float>>(images_offset_ + image_values(plan), "imaging/results")),
      images_(device.part_of<std::complex<float>>(results_, images_offset_, image_values(plan), "imaging/results")),
      taken_status_(device.part_of<std::uint32_t>(results_, 0, static_cast<std::size_t>(plan.batch) * kStatusWords,
                                                  "imaging/results")) {}

Pnah::Pnah(const ocl::Device& device, const PnahPlan& plan) : path_(make_path(device, plan)) {}

}  // namespace nearfield
