#include "publish/pictures/value_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace nearfield {
namespace {

constexpr double kReferencePressure_pa = 20e-6;  // rms
constexpr double kReferenceIntensity = 1e-12;    ///< W/m^2

bool is_power(const std::string& unit) {
  return unit.empty() || unit == "1" ||
         (unit.size() > 2 && unit.ends_with("^2") && unit.find('/') == std::string::npos);
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
  const bool has_unit = !product.unit.empty() && product.unit != "1";
  return {is_power(product.unit) && product.type != ElementType::kComplex64 ? 10.0 : 20.0, 1.0,
          has_unit ? fmt::format("dB re 1 {}", product.unit) : "dB re 1", false};
}

double ScaledValues::position(double value) const {
  if (std::isnan(value)) {
    return value;
  }
  return high > low ? ((are_levels ? rule.level(value) : value) - low) / (high - low) : 0.0;
}

std::size_t ScaledValues::above() const {
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [this](double value) {
    constexpr double kRounding = 1e-9;
    return std::isfinite(value) && position(value) > 1.0 + kRounding;
  }));
}

ScaledValues scaled_values(const Product& product, std::vector<double> values, const PictureOptions& options) {
  ScaledValues scaled;
  scaled.values = std::move(values);
  scaled.rule = level_rule(product);
  const bool is_length = product.unit == "m" && product.type != ElementType::kComplex64;  // no amplitude
  scaled.are_levels = options.decibels && !is_length;
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (std::any_of(scaled.values.begin(), scaled.values.end(), is_finite)) {
    scaled.least = std::numeric_limits<double>::infinity();
    for (const double value : scaled.values) {
      scaled.least = is_finite(value) ? std::min(scaled.least, value) : scaled.least;
      scaled.most = is_finite(value) ? std::max(scaled.most, value) : scaled.most;
    }
  }
  const double top = options.fixed_maximum.value_or(scaled.most);
  if (scaled.are_levels) {
    scaled.high = top > 0.0 ? scaled.rule.level(top) : 0.0;
    scaled.low = scaled.high + options.floor_db;
  } else {
    scaled.high = top;
    scaled.low = std::min(0.0, scaled.least);
  }
  return scaled;
}

}  // namespace nearfield
