#include "frontend/dot_product/plane_sums.hpp"

namespace nearfield {
namespace {

constexpr std::size_t kPlaneGroup = 64;

}  // namespace

PlaneSums::PlaneSums(const ocl::Device& device, const DotWork& work, const ocl::Program& program, std::size_t parts)
    : planes_(device.allocate<float>(parts * 2 * work.frequencies() * work.channels, kDotStage)),
      launch_{.global_0 = ocl::round_up(work.channels, kPlaneGroup),
              .local_0 = kPlaneGroup,
              .global_1 = work.frequencies()},
      kernel_(program.kernel("sum_parts")),
      to_spectra_(kernel_.arguments("spectra")) {
  kernel_.set("planes", planes_).set("parts", static_cast<std::uint32_t>(parts));
}

void PlaneSums::enqueue(const ocl::Buffer<std::complex<float>>& spectra) {
  kernel_.set(to_spectra_, spectra);
  kernel_.enqueue(launch_);
}

}  // namespace nearfield
