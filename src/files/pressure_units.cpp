#include "files/pressure_units.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nearfield {

std::optional<double> pascal_per_unit_named(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 15> kUnits{{{"Pa", 1.0},
                                                                        {"PA", 1.0},
                                                                        {"pa", 1.0},
                                                                        {"Pascal", 1.0},
                                                                        {"pascal", 1.0},
                                                                        {"N/m^2", 1.0},
                                                                        {"N/m2", 1.0},
                                                                        {"N/m\u00b2", 1.0},
                                                                        {"mPa", 1e-3},
                                                                        {"uPa", 1e-6},
                                                                        {"\u00b5Pa", 1e-6},
                                                                        {"\u03bcPa", 1e-6},
                                                                        {"\xb5Pa", 1e-6},
                                                                        {"hPa", 1e2},
                                                                        {"kPa", 1e3}}};
  const auto* const found =
      std::find_if(kUnits.begin(), kUnits.end(), [unit](const auto& known) { return known.first == unit; });
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TransferUnit> transfer_unit_named(std::string_view unit) {
  if (const std::optional<double> whole = pascal_per_unit_named(unit)) {
    return TransferUnit{*whole, {}};
  }
  for (std::size_t at = unit.find('/'); at != std::string_view::npos; at = unit.find('/', at + 1)) {
    if (const std::optional<double> pressure = pascal_per_unit_named(unit.substr(0, at))) {
      return TransferUnit{*pressure, unit.substr(at)};
    }
  }
  return std::nullopt;
}

}  // namespace nearfield
