#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "nearfield/settings.hpp"

namespace nearfield {

/// --device D: "INDEX", or a part of a platform's or device's name, or "NAME:INDEX"; nothing changes when D is empty.
/// Throws UsageError.
void choose_device(DeviceSettings& device, const std::string& text);

/// The same as KEY=VALUE of `--set`, none where D is empty; to stand before those of the user, which win.
std::vector<std::string> device_overrides(const std::string& text);

/// What such a text may be, for messages.
inline constexpr std::string_view kDeviceChoice = "INDEX, NAME or NAME:INDEX";
/// True for a text that choose_device() takes and that chooses something.
bool is_device_choice(const std::string& text);

/// The device of a processor: the run's, but for what its own setting chooses.
DeviceSettings device_of(const Settings& settings, const ProcessorSettings& processor);

}  // namespace nearfield
