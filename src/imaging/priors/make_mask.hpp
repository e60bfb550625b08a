#pragma once
#include <vector>

#include "imaging/shared/microphone_mask.hpp"

namespace nearfield {

/// Makes the best linear prediction of each masked microphone from the nearest unmasked ones (field_prediction.hpp),
/// for a field that comes from the plan's surface. Masks the plan's dead channels and `channels`, in any order. If
/// there are none, also frees what earlier masks of this plan have cached (prior_fill.hpp).
MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels);

}  // namespace nearfield
