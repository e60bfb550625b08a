#pragma once
#include "cl/work.hpp"
#include "processors/srp_phat/plan.hpp"

namespace nearfield {

/// Least work of a launch of windows, in the domain of the plan, by the best order of loops: each path and each phasor
/// is computed once. All launches of a kernel in a window count together.
WorkModel work_of(const SrpPlan& plan);

}  // namespace nearfield
