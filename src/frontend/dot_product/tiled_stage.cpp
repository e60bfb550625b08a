#include "frontend/dot_product/tiled_stage.hpp"

#include <fmt/format.h>

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

namespace {

constexpr std::size_t kLanes = 32;
constexpr std::size_t kSlices = 8;
constexpr std::size_t kItemChannels = 2;
constexpr std::size_t kMaxBlock = 8;
/// Above this number, partial sums take longer to write and read than the samples.
constexpr std::size_t kMaxPartialBlocks = 128;

/// Frequencies per work-item of dot_tiled: the least power of two from 2 on that spans them.
std::size_t block_of(std::size_t frequencies) {
  std::size_t block = 2;
  while (block < frequencies && block < kMaxBlock) {
    block *= 2;
  }
  return block;
}

ocl::Program tiled_program(const ocl::Device& device, const DotWork& work) {
  ocl::Defines defines = work.defines();
  defines["BLOCK"] = fmt::format("{}", block_of(work.frequencies()));
  defines["ITEM_CHANNELS"] = fmt::format("{}", kItemChannels);
  defines["LANES"] = fmt::format("{}", kLanes);
  defines["SLICES"] = fmt::format("{}", kSlices);
  return device.build(kDotStage, "frontend/dot_product/dot_tiled.cl", defines);
}

class TiledStage final : public DotStage {
 public:
  TiledStage(const ocl::Device& device, const DotWork& work, int parts)
      : block_(block_of(work.frequencies())),
        parts_(static_cast<std::size_t>(parts)),
        coefficients_(device.upload<std::complex<float>>(blocked(work), kDotStage)),
        program_(tiled_program(device, work)),
        kernel_(program_.kernel("dot_tiled")),
        per_window_(kernel_.arguments("first_slot", "spectra", "status")),
        sums_(device, work, program_, parts_),
        launch_{.global_0 = kLanes * (ocl::round_up(work.channels, kLanes * kItemChannels) / (kLanes * kItemChannels)),
                .local_0 = kLanes,
                .global_1 = kSlices * parts_,
                .local_1 = kSlices,
                .global_2 = ocl::round_up(work.frequencies(), block_) / block_} {
    kernel_.set("samples", work.source->samples().samples())
        .set("is_alive", work.source->is_alive())
        .set("coefficients", coefficients_)
        .set("planes", sums_.planes())
        .set("parts", static_cast<std::uint32_t>(parts_))
        .set("slots", work.source->samples().span().slots());
  }
  void enqueue(std::uint32_t first_slot, const ocl::Buffer<std::complex<float>>& spectra,
               const ocl::Buffer<std::uint32_t>& status) override {
    kernel_.set(per_window_, first_slot, spectra, status);
    kernel_.enqueue(launch_);
    if (parts_ > 1) {
      sums_.enqueue(spectra);
    }
  }

 private:
  [[nodiscard]] std::vector<std::complex<float>> blocked(const DotWork& work) const {
    std::vector<std::complex<float>> values;
    for (std::size_t first = 0; first < work.frequencies(); first += block_) {
      for (std::size_t t = 0; t < work.window.size(); ++t) {
        for (std::size_t f = first; f < first + block_; ++f) {
          values.push_back(f < work.frequencies() ? std::complex<float>(work.coefficient(f, t))
                                                  : std::complex<float>());
        }
      }
    }
    return values;
  }
  std::size_t block_;
  std::size_t parts_;
  ocl::Buffer<std::complex<float>> coefficients_;  ///< [block][t][frequency in block]
  ocl::Program program_;
  ocl::Kernel kernel_;
  ocl::Arguments<3> per_window_;
  PlaneSums sums_;
  ocl::Launch launch_;
};

}  // namespace

std::unique_ptr<DotStage> make_tiled_stage(const ocl::Device& device, const DotWork& work, int parts) {
  return std::make_unique<TiledStage>(device, work, parts);
}

std::vector<DotVariant> tiled_candidates(const ocl::Device& device, const DotWork& work) {
  std::vector<DotVariant> variants;
  const std::size_t blocks = ocl::round_up(work.frequencies(), kMaxBlock) / kMaxBlock;
  for (const std::size_t parts : {1U, 4U, 16U, 64U}) {
    const bool fits = parts * kSlices <= work.window.size() && parts * blocks <= kMaxPartialBlocks;
    if (parts == 1 || (device.info().is_gpu && fits)) {
      variants.push_back({.kernel = DotKernel::kTiled, .parts = static_cast<int>(parts)});
    }
  }
  return variants;
}

std::size_t tiled_groups(const DotWork& work, int parts) {
  constexpr std::size_t kGroupChannels = kLanes * kItemChannels;
  const std::size_t block = block_of(work.frequencies());
  return ocl::round_up(work.channels, kGroupChannels) / kGroupChannels * static_cast<std::size_t>(parts) *
         (ocl::round_up(work.frequencies(), block) / block);
}

}  // namespace nearfield
