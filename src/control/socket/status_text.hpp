#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nearfield::control {

/// A status as text for users; missing keys are left out.
std::string status_text(const nlohmann::json& status);

}  // namespace nearfield::control
