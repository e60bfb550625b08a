#pragma once
#include "cl/work.hpp"
#include "imaging/array_plan.hpp"

namespace nearfield::work {

/// The check for microphones that are not finite, and the filling of those that are masked, for `windows` windows.
WorkModel microphones(const ArrayPlan& array, int windows);
/// All stages of PNAH, of the fused kernels and of the way stage by stage.
WorkModel pnah(const ArrayPlan& array, const HolographySettings& holography, int windows);

}  // namespace nearfield::work
