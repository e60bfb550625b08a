#pragma once
#include <string>
#include <vector>

#include "nearfield/level.hpp"
#include "nearfield/product.hpp"
#include "publish/pictures/picture.hpp"

/// How the values of any product become levels, and places on a scale of colours.
namespace nearfield {

/// The values of one map, magnitudes where they are complex, and the ends of its scale.
struct ScaledValues {
  std::vector<double> values;
  double least = 0.0;  ///< of the finite values; 0 where there is none
  double most = 0.0;   ///< of the finite values, and 0 at least
  LevelRule rule;
  bool are_levels = false;
  double low = 0.0;  ///< ends of the scale, dB or the product's unit
  double high = 0.0;

  /// 0 to 1 on the scale, beyond them outside of it; NaN stays NaN.
  [[nodiscard]] double position(double value) const;
  /// How many finite values lie above the scale.
  [[nodiscard]] std::size_t above() const;
};

/// With `options.decibels` the scale reaches from `options.floor_db` below its top up to that: the largest value, or
/// `options.fixed_maximum`. Else, and where values are lengths, real and in m, it begins at 0, or at the least value
/// or `options.fixed_minimum` where these are negative.
ScaledValues scaled_values(const Product& product, std::vector<double> values, const PictureOptions& options);

}  // namespace nearfield
