#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "imaging/array_plan.hpp"

namespace nearfield {

/// Share of a picture's information beyond which its frame has kFlagInformationMissing: more, and the image is off by a
/// third of its level at least.
inline constexpr double kMostMissingInformation = 0.1;

/// Share of a picture's information that microphones which are not used take with them (docs/sonah.md): 0, nothing, to
/// 1, all of it. A picture's information is the power that the array makes known of the image on the surface of sonah's
/// prior, with noise 40 dB below the field,
///   I = trace(B (C + n)^-1 B^H),
/// and the share is 1 - I of the microphones that are used, over I of all. Empty where nothing is missing.
struct MissingInformation {
  std::vector<float> of_frequency;

  /// 0 where nothing is missing.
  [[nodiscard]] float largest() const;
  [[nodiscard]] double at(std::size_t frequency) const;
};

/// The share of the information about the plan's `imaged` that the channels `missing`, ascending, take with them; empty
/// where the plan has no images. A grid's is that of blocks of at
/// most 32 x 32 microphones, each by itself, and at most three frequencies are computed, the others being linear
/// between them. Microphones on no regular grid have equal parts. What no mask changes is kept from call to call. Any
/// thread: milliseconds for some tens of microphones, and about a second for the first mask of 32 x 32 microphones.
MissingInformation missing_information(const ArrayPlan& plan, std::span<const std::int32_t> missing);

/// The share where `unknown` microphones more are missing, no one knows which of the `used` ones: equal parts.
double missing_with(double missing, int unknown, int used);

/// The expected error of an image that lacks this share of its information, from that of the microphones that are used:
/// what is missing is not shown. NaN stays NaN.
float error_with_missing(float error, double missing);

}  // namespace nearfield
