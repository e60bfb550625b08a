#pragma once
#include <string>
#include <vector>

#include "core/level.hpp"
#include "core/product.hpp"
#include "publish/pictures/picture.hpp"

/// Conversion of any product's values to levels, and to positions on a colour scale.
namespace nearfield {

/// Values of one map, as magnitudes if they are complex, and the ends of its scale.
struct ScaledValues {
  std::vector<double> values;
  double least = 0.0;  ///< least finite value; 0 if there is none
  double most = 0.0;   ///< largest finite value, at least 0
  LevelRule rule;
  bool are_levels = false;
  double low = 0.0;  ///< ends of the scale, dB or the product's unit
  double high = 0.0;

  /// Position on the scale, 0 to 1 inside it; NaN remains NaN.
  [[nodiscard]] double position(double value) const;
  /// Number of finite values above the scale.
  [[nodiscard]] std::size_t above() const;
};

/// With `options.decibels` the scale reaches from `options.floor_db` below its top up to that: the largest value, or
/// `options.fixed_maximum`. Otherwise, and for real lengths in m, it begins at 0, or at the least value or
/// `options.fixed_minimum` if these are negative.
ScaledValues scaled_values(const Product& product, std::vector<double> values, const PictureOptions& options);

}  // namespace nearfield
