#pragma once
#include "core/settings.hpp"

namespace nearfield {

/// Method by which Walsh coefficients are obtained.
enum class WalshVariant { kPrecomputed, kComputed, kFast };

std::string_view name_of(WalshVariant variant);

struct WalshFourierSettings {
  WalshVariant variant = WalshVariant::kFast;
  int coefficients = 6144;  ///< largest coefficients kept per frequency; 0: all
  double threshold = 0.0;   ///< if coefficients is 0: keeps those with at least this |a - jb|
};

}  // namespace nearfield
