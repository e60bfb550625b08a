#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nearfield::control {

/// A status as text for users; missing keys are left out.
std::string status_text(const nlohmann::json& status);

/// The result of the command `events`, one line per event, oldest first.
std::string events_text(const nlohmann::json& result);

}  // namespace nearfield::control
