#include "publish/pictures/value_scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nearfield {

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
  const bool is_length = product.unit == "m" && product.type != ElementType::kComplex64;  // not an amplitude
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
    scaled.low = std::min(0.0, options.fixed_minimum.value_or(scaled.least));
  }
  return scaled;
}

PictureOptions PictureScale::options_for(const std::string& name, const LevelRule& rule,
                                         std::span<const double> values) {
  PictureOptions options = choice_.options;
  if (choice_.top_db && rule.is_of_sound_pressure) {
    options.fixed_maximum = rule.value(*choice_.top_db);
  } else if (choice_.is_held) {
    Held& held = held_[name.substr(std::min(name.find('_'), name.size()))];
    for (const double value : values) {
      held.most = std::isfinite(value) ? std::max(held.most, value) : held.most;
      held.least = std::isfinite(value) ? std::min(held.least, value) : held.least;
    }
    if (held.most > 0.0) {
      options.fixed_maximum = held.most;
    }
    if (held.least < 0.0) {
      options.fixed_minimum = held.least;
    }
  }
  return options;
}

}  // namespace nearfield
