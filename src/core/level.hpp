#pragma once
#include <string>

#include "core/product.hpp"

namespace nearfield {

/// Converts values to levels: db_per_decade lg(value / reference).
struct LevelRule {
  double db_per_decade = 20.0;
  double reference = 1.0;  ///< in the product's unit
  std::string unit;        ///< "dB re 20 µPa"
  bool is_of_sound_pressure = false;

  [[nodiscard]] double level(double value) const;
  [[nodiscard]] double value(double level_db) const;
};
/// Sound pressures (peak, Pa) and their mean squares (Pa^2) re 20 uPa rms, intensities re 1 pW/m^2, images of
/// velocities and displacements (peak) re 50 nm/s and 1 pm rms, other powers (W, squares, and plain numbers such
/// as a steered response power) with 10 dB a decade re 1, all else with 20 dB a decade re 1.
LevelRule level_rule(const Product& product);

}  // namespace nearfield
