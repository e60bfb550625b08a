#pragma once
#include <cstdint>
#include <vector>

#include "cl/device.hpp"
#include "processors/far_field/array.hpp"
#include "processors/srp_phat/cut.hpp"

/// Macros and tables for the kernels of kernels/processors/srp_phat/; weights.cl has the axes.
namespace nearfield::srp {

/// [pixel]
std::vector<far_field::Float4> pixels_of(const SrpPlan& plan);
/// [microphone, padded to full tiles]: the padding repeats the last one.
std::vector<far_field::Float4> positions_of(const SrpPlan& plan, const SrpCut& cut);
/// [bin], index into the spectra.
std::vector<std::int32_t> bins_of(const SrpPlan& plan);
/// [pair][2]; without pairs a single unused one.
std::vector<std::int32_t> pair_table(const SrpPlan& plan);
/// [bin, padded to full tiles]; the padding continues the spacing if the bins are equally spaced.
std::vector<float> waves_of(const SrpPlan& plan, const SrpCut& cut);
ocl::Defines defines_of(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut);

}  // namespace nearfield::srp
