#pragma once
#include <optional>
#include <string_view>

namespace nearfield {

/// Pascal per unit of pressure, by its name in files, such as "mPa" or "N/m^2"; nothing for other units.
std::optional<double> pascal_per_unit_named(std::string_view unit);

/// A unit of pressure over that of a transfer function's input.
struct TransferUnit {
  double pascal_per_unit = 1.0;
  std::string_view behind_pressure;  ///< "/(m/s)" of "Pa/(m/s)"; empty for pressure itself
};
/// Parses a name such as "kPa/N"; nothing for other units.
std::optional<TransferUnit> transfer_unit_named(std::string_view unit);

}  // namespace nearfield
