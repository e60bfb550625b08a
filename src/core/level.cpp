#include "core/level.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

namespace nearfield {
namespace {

constexpr double kReferencePressure_pa = 20e-6;   // rms
constexpr double kReferenceIntensity = 1e-12;     ///< W/m^2
constexpr double kReferenceVelocity = 5e-8;       // m/s rms, ISO 1683
constexpr double kReferenceDisplacement = 1e-12;  // m rms

/// True for a plain number, a power in W, or the square of a whole unit: "(m/s)^2", but not "W/m^2" or "1/s^2".
bool is_unit_of_power(const std::string& unit) {
  const bool is_square = unit.size() > 2 && unit.ends_with("^2");
  const bool is_of_one_unit =
      unit.find('/') == std::string::npos || (unit.front() == '(' && unit.find(')') + 3 == unit.size());
  return unit.empty() || unit == "1" || unit == "W" || (is_square && is_of_one_unit);
}

}  // namespace

double LevelRule::level(double value) const {
  return value > 0.0 ? db_per_decade * std::log10(value / reference)
                     : (std::isnan(value) ? value : -std::numeric_limits<double>::infinity());
}

double LevelRule::value(double level_db) const { return reference * std::pow(10.0, level_db / db_per_decade); }

LevelRule level_rule(const Product& product) {
  constexpr const char* kOfPressure = "dB re 20 \u00b5Pa";
  if (product.unit == "Pa") {
    return {20.0, kReferencePressure_pa * std::numbers::sqrt2, kOfPressure, true};
  }
  if (product.unit == "Pa^2") {
    return {10.0, kReferencePressure_pa * kReferencePressure_pa, kOfPressure, true};
  }
  if (product.unit == "W/m^2") {
    return {10.0, kReferenceIntensity, "dB re 1 pW/m\u00b2", false};
  }
  if (product.unit == "m/s" && product.type == ElementType::kComplex64) {
    return {20.0, kReferenceVelocity * std::numbers::sqrt2, "dB re 50 nm/s", false};
  }
  if (product.unit == "m" && product.type == ElementType::kComplex64) {
    return {20.0, kReferenceDisplacement * std::numbers::sqrt2, "dB re 1 pm", false};
  }
  const bool has_unit = !product.unit.empty() && product.unit != "1";
  return {is_unit_of_power(product.unit) && product.type != ElementType::kComplex64 ? 10.0 : 20.0, 1.0,
          has_unit ? fmt::format("dB re 1 {}", product.unit) : "dB re 1", false};
}

}  // namespace nearfield
