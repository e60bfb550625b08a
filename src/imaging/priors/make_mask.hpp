#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/shared/array_plan.hpp"

namespace nearfield {

/// Share of the information about the plan's `imaged` that is lost with the channels `missing`, ascending; empty if the
/// plan has no images. On a grid it is computed in blocks of at most 32 x 32 microphones, each by itself, and for at
/// most three frequencies, with linear interpolation between them. Microphones on no regular grid have equal shares.
/// Results that no mask changes are cached between calls. Any thread: milliseconds for some tens of microphones, and
/// about a second for the first mask of 32 x 32 microphones.
MissingInformation missing_information(const ArrayPlan& plan, std::span<const std::int32_t> missing);

/// Share if `unknown` more of the `used` microphones are missing and it is not known which: equal parts.
double missing_with(double missing, int unknown, int used);

/// Expected error of an image without this share of its information, from that of the used microphones: the missing
/// part is not shown. NaN stays NaN. of_sources: share of the image that found sources explain, which lacks nothing.
float error_with_missing(float error, double missing, double of_sources = 0.0);

/// Makes the best linear prediction of each masked microphone from the nearest unmasked ones (field_prediction.hpp),
/// for a field that comes from the plan's surface. Masks the plan's dead channels and `channels`, in any order. If
/// there are none, also frees what earlier masks of this plan have cached (prior_fill.hpp).
MicrophoneMask make_mask(const ArrayPlan& plan, const std::vector<int>& channels);

}  // namespace nearfield
