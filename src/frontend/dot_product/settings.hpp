#pragma once
#include <string_view>

#include "core/settings.hpp"

namespace nearfield {

/// kAuto measures on the device in use.
enum class DotKernel { kAuto, kPlain, kMirrored, kFourOutput, kTiled, kGemm };

std::string_view name_of(DotKernel kernel);

struct DotProductSettings {
  DotKernel kernel = DotKernel::kAuto;  ///< front_end.dot_kernel
};

}  // namespace nearfield
