#pragma once
#include <string>

#include "nearfield/settings.hpp"

namespace nearfield {

/// --device D: "INDEX", or a part of a platform's or device's name, or "NAME:INDEX"; nothing changes when D is empty.
/// Throws UsageError.
void choose_device(DeviceSettings& device, const std::string& text);

}  // namespace nearfield
