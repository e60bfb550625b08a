#pragma once
#include "nearfield/settings.hpp"

namespace nearfield {

/// Where Walsh coefficients come from.
enum class WalshVariant { kPrecomputed, kComputed, kFast };

std::string_view name_of(WalshVariant variant);

struct WalshFourierSettings {
  WalshVariant variant = WalshVariant::kFast;
  int coefficients = 6144;  ///< largest ones kept for each frequency; 0: all
  double threshold = 0.0;   ///< with coefficients 0: those of at least this |a - jb|
};

}  // namespace nearfield
