#pragma once
#include "core/system/limited_run.hpp"

namespace nearfield::control {
using nearfield::LimitedRun;
}  // namespace nearfield::control
