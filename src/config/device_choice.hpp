#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.hpp"

namespace nearfield {

/// --device D: "INDEX", or a part of a platform's or device's name, or "NAME:INDEX"; nothing changes when D is empty.
/// Throws UsageError.
void choose_device(DeviceSettings& device, const std::string& text);

/// --device D as KEY=VALUE for `--set`, none if D is empty; put before the user's own, which win.
std::vector<std::string> device_overrides(const std::string& text);

/// The forms of a device choice, for messages.
inline constexpr std::string_view kDeviceChoice = "INDEX, NAME or NAME:INDEX";
/// True for a text that choose_device() accepts and that selects something.
bool is_device_choice(const std::string& text);

/// The device of a processor: the run's, with its own setting's choice applied.
DeviceSettings device_of(const Settings& settings, const ProcessorSettings& processor);

}  // namespace nearfield
