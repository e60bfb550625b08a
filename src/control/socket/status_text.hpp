#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nearfield::control {

/// What a status says, for people; what it does not say is left out.
std::string status_text(const nlohmann::json& status);

}  // namespace nearfield::control
