#include "frontend/common/work.hpp"

#include <limits>

#include "frontend/common/sliding_dft.hpp"

namespace nearfield::work {
namespace {

/// An int2 of kernels/frontend/common/sliding_dft.cl.
constexpr double kSum = 2 * sizeof(std::int32_t);

double terms_of(const FrontEndSettings& settings) {
  const bool hann = settings.window == WindowKind::kHann;
  return static_cast<double>(settings.frequencies_hz.size()) * (hann ? 3.0 : 1.0) +
         (settings.remove_dc ? (hann ? 2.0 : 1.0) : 0.0);
}

}  // namespace

FrontEndSizes::FrontEndSizes(const FrontEndPlan& plan)
    : windows(plan.batch),
      frequencies(static_cast<double>(plan.settings.frequencies_hz.size())),
      microphones(plan.geometry.channels()),
      lanes(kBitsPerWord * words_per_bit_time(plan.layout, plan.geometry)),
      window(plan.settings.window_samples),
      hop(plan.settings.hop_samples),
      blocks(plan.batch),
      kept_words(plan.batch),
      terms(terms_of(plan.settings)) {
  // The grid on GPUs, which do not cut blocks into pieces.
  const BlockGrid grid(static_cast<std::size_t>(plan.settings.window_samples),
                       static_cast<std::size_t>(plan.settings.hop_samples), std::numeric_limits<std::size_t>::max());
  blocks *= static_cast<double>(grid.hop_blocks());
  kept_words *= static_cast<double>(grid.kept_words);
}

double FrontEndSizes::block_bytes() const { return (terms + 1.0) * lanes * kSum; }

StageWork corner_turn(const FrontEndSizes& s) {
  return {.stage = "front_end/bit_ring/corner_turn", .bytes = 2.0 * s.hop_words() * s.microphones * kWord};
}

StageWork slide(std::string_view stage, const FrontEndSizes& s) {
  return {.stage = stage,
          .bytes = 2.0 * s.blocks * s.block_bytes() + 2.0 * s.block_bytes() + s.spectra_bytes(),
          .operations = s.microphones * (4.0 * s.blocks * s.terms + s.windows * s.terms * kComplexMultiply +
                                         s.holograms() * 3.0 * kMultiplyAdd)};
}

StageWork line_transforms(std::string_view stage, const FrontEndSizes& s) {
  return {.stage = stage,
          .bytes = 2.0 * s.windows * s.window * s.microphones * kFloat,
          .operations = 0.5 * s.windows * s.microphones * transform_operations(s.window)};
}

}  // namespace nearfield::work
