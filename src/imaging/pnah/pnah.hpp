#pragma once
#include "imaging/shared/imager.hpp"

namespace nearfield {

/// Entry of planar near-field acoustic holography (docs/how/pnah.md) in the table of imagers: by the path that the
/// plan's `fft` names or, with "auto", by the fused one if it supports the plan.
ImagerEntry pnah_imager();

}  // namespace nearfield
