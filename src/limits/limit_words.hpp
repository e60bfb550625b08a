#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "limits/limit_watch.hpp"

/// Texts and JSON of limits and their events (docs/reference/control.md lists the keys).
namespace nearfield::limits {

/// "limit loud is exceeded: 2.31 Pa at frequency 1007.08 Hz, x 0.02 m"; at the end with the largest value.
std::string text_of(const LimitEvent& event);
nlohmann::json json_of(const LimitEvent& event);
nlohmann::json json_of(const LimitState& state);

}  // namespace nearfield::limits
