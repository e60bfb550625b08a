#pragma once
#include <optional>
#include <string_view>

namespace nearfield {

/// Pascal to one of a unit of pressure, by its name as files write it, such as "mPa" or "N/m^2"; nothing for others.
std::optional<double> pascal_per_unit_named(std::string_view unit);

}  // namespace nearfield
