#pragma once
#include <optional>
#include <string_view>

namespace nearfield {

/// Pascal to one of a unit of pressure, by its name as files write it, such as "mPa" or "N/m^2"; nothing for others.
std::optional<double> pascal_per_unit_named(std::string_view unit);

/// A unit of pressure over another, which is that of a transfer function's input.
struct TransferUnit {
  double pascal_per_unit = 1.0;
  std::string_view behind_pressure;  ///< "/(m/s)" of "Pa/(m/s)"; empty of pressure itself
};
/// By its name, such as "kPa/N"; nothing for others.
std::optional<TransferUnit> transfer_unit_named(std::string_view unit);

}  // namespace nearfield
