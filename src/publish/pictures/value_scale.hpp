#pragma once
#include <string>
#include <vector>

#include "nearfield/product.hpp"
#include "publish/pictures/picture.hpp"

/// How the values of any product become levels, and places on a scale of colours.
namespace nearfield {

/// What a value's level is: db_per_decade lg(value / reference).
struct LevelRule {
  double db_per_decade = 20.0;
  double reference = 1.0;  ///< in the product's unit
  std::string unit;        ///< "dB re 20 µPa"
  bool is_of_sound_pressure = false;

  [[nodiscard]] double level(double value) const;
  [[nodiscard]] double value(double level_db) const;
};
/// Sound pressures (peak, Pa) and their mean squares (Pa^2) re 20 uPa rms, intensities re 1 pW/m^2, other powers
/// (squares and plain numbers, such as a steered response power) with 10 dB a decade re 1, all else with 20 dB a decade
/// re 1.
LevelRule level_rule(const Product& product);

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
/// where there are negative ones.
ScaledValues scaled_values(const Product& product, std::vector<double> values, const PictureOptions& options);

}  // namespace nearfield
