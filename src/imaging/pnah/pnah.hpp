#pragma once
#include "cl/work.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/imager.hpp"

namespace nearfield {

/// Entry of planar near-field acoustic holography (docs/how/pnah.md) in the table of imagers: by the path that the
/// plan's `fft` names or, with "auto", by the fused one if it supports the plan.
ImagerEntry pnah_imager();

}  // namespace nearfield

namespace nearfield::work {

/// Work of the check for microphones that are not finite and the filling of masked ones, for `windows` windows.
WorkModel microphones(const ArrayPlan& array, int windows);
/// Work of all stages of PNAH, of the fused and of the staged path.
WorkModel pnah(const ArrayPlan& array, const HolographySettings& holography, int windows);

}  // namespace nearfield::work
