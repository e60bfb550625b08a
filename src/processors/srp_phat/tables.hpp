#pragma once
#include <cstdint>
#include <vector>

#include "cl/device.hpp"
#include "processors/far_field/device_tables.hpp"
#include "processors/srp_phat/cut.hpp"

/// What the kernels of kernels/processors/srp_phat/ are made of and read; weights.cl has the axes.
namespace nearfield::srp {

/// [pixel]
std::vector<far_field::Float4> pixels_of(const SrpPlan& plan);
/// [microphone, with those that fill up a tile]: past the last one the last one again.
std::vector<far_field::Float4> positions_of(const SrpPlan& plan, const SrpCut& cut);
/// [bin] of the spectra.
std::vector<std::int32_t> bins_of(const SrpPlan& plan);
/// [pair][2]; one pair that nobody reads where there are none.
std::vector<std::int32_t> pair_table(const SrpPlan& plan);
/// [bin, with those that fill up a tile], which go on as the others do where these are equally spaced.
std::vector<float> waves_of(const SrpPlan& plan, const SrpCut& cut);
ocl::Defines defines_of(const ocl::DeviceInfo& device, const SrpPlan& plan, const SrpCut& cut);

}  // namespace nearfield::srp
