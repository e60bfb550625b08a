#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "core/geometry.hpp"

/// Fields of ten kinds, drawn at random, as a healthy array may meet them.
namespace nearfield::test {

struct DrawnSetup {
  ArrayGeometry geometry;
  double standoff_m = 0.0;
  double wavenumber_rad_per_m = 0.0;
};

class DrawnFields {
 public:
  using Complex = std::complex<double>;
  using Field = std::vector<Complex>;
  static constexpr int kKinds = 10;
  static constexpr const char* kNames[kKinds] = {"modes along the rows",
                                                 "modes in any direction",
                                                 "wave packets",
                                                 "pistons",
                                                 "monopoles",
                                                 "plane waves",
                                                 "two modes",
                                                 "rooms with reflections",
                                                 "six sources",
                                                 "travelling and standing waves of a plate"};

  explicit DrawnFields(unsigned seed) : random_(seed) {}
  [[nodiscard]] double uniform(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  [[nodiscard]] int integer(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  [[nodiscard]] std::mt19937& random() { return random_; }

  /// A square array at 0.7 to 2 pitches before a surface, waves in air of at least 2.9 pitches.
  DrawnSetup setup(int side) {
    constexpr double kPitches_m[] = {0.02, 0.03, 0.06};
    DrawnSetup setup;
    const double pitch_m = kPitches_m[integer(0, 2)];
    setup.geometry = {.rows = side, .columns = side, .pitch_x_m = pitch_m, .pitch_y_m = pitch_m};
    setup.standoff_m = pitch_m * uniform(0.7, 2.0);
    setup.wavenumber_rad_per_m = std::min(2.0 * std::numbers::pi * uniform(200.0, 6000.0) / 343.0,
                                          0.7 * std::numbers::pi / pitch_m * uniform(0.3, 1.0));
    return setup;
  }

  /// At the microphones, of mean power 1.
  Field field(const DrawnSetup& setup, int kind) {
    Field field = raw(setup, kind);
    double power = 0.0;
    for (const Complex& value : field) {
      power += std::norm(value);
    }
    const double rms = std::sqrt(power / static_cast<double>(field.size()));
    for (Complex& value : field) {
      value /= rms;
    }
    return field;
  }

 private:
  struct Place {
    double x_m;
    double y_m;
  };

  Field raw(const DrawnSetup& setup, int kind) {
    switch (kind) {
      case 0:
        return integer(0, 1) == 0 ? endless_mode(setup, true) : plate_mode(setup);
      case 1:
        return endless_mode(setup, false);
      case 2:
        return packet(setup);
      case 3:
        return piston(setup);
      case 4:
        return monopole(setup, source(setup), -uniform(0.0, 0.06));
      case 5:
        return wave(setup, setup.wavenumber_rad_per_m * uniform(0.0, 1.0));
      case 6:
        return sum(raw(setup, integer(0, 1)), raw(setup, integer(0, 1)),
                   std::polar(uniform(0.1, 1.0), uniform(0.0, 6.0)));
      case 7:
        return room(setup);
      case 8: {
        Field field = monopole(setup, source(setup), -uniform(0.0, 0.06));
        for (int i = 0; i < 5; ++i) {
          field = sum(field, monopole(setup, source(setup), -uniform(0.0, 0.06)),
                      std::polar(uniform(0.2, 1.0), uniform(0.0, 6.3)));
        }
        return field;
      }
      default: {
        const double wavenumber = std::numbers::pi / half_wave_m(setup);
        const double angle = uniform(0.0, 6.3);
        return sum(wave(setup, wavenumber, angle), wave(setup, -wavenumber, angle),
                   std::polar(uniform(0.0, 1.0), uniform(0.0, 6.3)));
      }
    }
  }

  template <typename Function>
  static Field at_microphones(const DrawnSetup& setup, const Function& value) {
    Field field;
    for (int row = 0; row < setup.geometry.rows; ++row) {
      for (int column = 0; column < setup.geometry.columns; ++column) {
        field.push_back(value(setup.geometry.x_m(column), setup.geometry.y_m(row)));
      }
    }
    return field;
  }
  static Field sum(Field one, const Field& other, Complex factor) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      one[i] += factor * other[i];
    }
    return one;
  }
  static double length_m(const DrawnSetup& setup) { return setup.geometry.pitch_x_m * (setup.geometry.columns - 1); }
  Place source(const DrawnSetup& setup) {
    const double reach_m = 0.6 * length_m(setup);
    return {.x_m = uniform(-reach_m, reach_m), .y_m = uniform(-reach_m, reach_m)};
  }
  /// 2 to 6 pitches, every other time a whole number of them.
  double half_wave_m(const DrawnSetup& setup) {
    return setup.geometry.pitch_x_m * (integer(0, 1) == 0 ? integer(2, 6) : uniform(2.0, 6.0));
  }
  static Field monopole(const DrawnSetup& setup, Place at, double z_m) {
    return at_microphones(setup, [&](double x_m, double y_m) {
      const double r_m = std::hypot(x_m - at.x_m, y_m - at.y_m, setup.standoff_m - z_m);
      return std::polar(1.0 / r_m, -setup.wavenumber_rad_per_m * r_m);
    });
  }
  Field wave(const DrawnSetup& setup, double wavenumber) { return wave(setup, wavenumber, uniform(0.0, 6.3)); }
  static Field wave(const DrawnSetup& setup, double wavenumber, double angle) {
    return at_microphones(setup, [&](double x_m, double y_m) {
      return std::polar(1.0, wavenumber * (std::cos(angle) * x_m + std::sin(angle) * y_m));
    });
  }
  /// Of an endless plate; with `is_aligned` its node lines run through microphones, along rows and columns.
  Field endless_mode(const DrawnSetup& setup, bool is_aligned) {
    const ArrayGeometry& geometry = setup.geometry;
    const double half_x_m = is_aligned ? geometry.pitch_x_m * integer(2, 6) : half_wave_m(setup);
    const double half_y_m = is_aligned ? geometry.pitch_x_m * integer(2, 6) : half_wave_m(setup);
    const double angle = is_aligned || integer(0, 1) == 0 ? 0.0 : uniform(0.0, 3.2);
    const double at_x_m = is_aligned ? geometry.x_m(integer(0, geometry.columns - 1)) : uniform(-1.0, 1.0);
    const double at_y_m = is_aligned ? geometry.y_m(integer(0, geometry.rows - 1)) : uniform(-1.0, 1.0);
    return at_microphones(setup, [&](double x_m, double y_m) {
      const double along = std::cos(angle) * x_m + std::sin(angle) * y_m - at_x_m;
      const double across = std::cos(angle) * y_m - std::sin(angle) * x_m - at_y_m;
      return Complex(std::sin(std::numbers::pi * along / half_x_m) * std::sin(std::numbers::pi * across / half_y_m));
    });
  }
  /// Rayleigh's integral over a square of so many points a side.
  template <typename Velocity>
  static Field rayleigh(const DrawnSetup& setup, Place corner, Place size, int points, const Velocity& velocity) {
    return at_microphones(setup, [&](double x_m, double y_m) {
      Complex pressure = 0.0;
      for (int i = 0; i < points; ++i) {
        for (int j = 0; j < points; ++j) {
          const double along = (i + 0.5) / points;
          const double across = (j + 0.5) / points;
          const double amplitude = velocity(along, across);
          if (amplitude != 0.0) {
            const double r_m =
                std::hypot(x_m - corner.x_m - along * size.x_m, y_m - corner.y_m - across * size.y_m, setup.standoff_m);
            pressure += amplitude * std::polar(1.0 / r_m, -setup.wavenumber_rad_per_m * r_m);
          }
        }
      }
      return pressure;
    });
  }
  /// A mode of a plate that ends, its node lines through microphones.
  Field plate_mode(const DrawnSetup& setup) {
    const ArrayGeometry& geometry = setup.geometry;
    const Place half = {.x_m = geometry.pitch_x_m * integer(2, 6), .y_m = geometry.pitch_x_m * integer(2, 6)};
    const int waves_x = std::max(1, static_cast<int>(length_m(setup) / half.x_m));
    const int waves_y = std::max(1, static_cast<int>(length_m(setup) / half.y_m));
    const Place corner = {.x_m = geometry.x_m(integer(0, geometry.columns - 1)) - half.x_m * integer(0, waves_x),
                          .y_m = geometry.y_m(integer(0, geometry.rows - 1)) - half.y_m * integer(0, waves_y)};
    const int points = std::clamp(6 * std::max(waves_x, waves_y), 24, 60);
    return rayleigh(setup, corner, {.x_m = half.x_m * waves_x, .y_m = half.y_m * waves_y}, points,
                    [&](double along, double across) {
                      return std::sin(waves_x * std::numbers::pi * along) *
                             std::sin(waves_y * std::numbers::pi * across);
                    });
  }
  Field piston(const DrawnSetup& setup) {
    const double radius_m = setup.geometry.pitch_x_m * uniform(1.0, 6.0);
    const Place centre = source(setup);
    return rayleigh(setup, {.x_m = centre.x_m - radius_m, .y_m = centre.y_m - radius_m},
                    {.x_m = 2.0 * radius_m, .y_m = 2.0 * radius_m}, 36, [](double along, double across) {
                      return std::hypot(along - 0.5, across - 0.5) < 0.5 ? 1.0 : 0.0;
                    });
  }
  Field packet(const DrawnSetup& setup) {
    const Place centre = source(setup);
    const double width_m = setup.geometry.pitch_x_m * uniform(2.0, 8.0);
    Field field = wave(setup, std::numbers::pi / half_wave_m(setup));
    const Field envelope = at_microphones(setup, [&](double x_m, double y_m) {
      return Complex(std::exp(-0.5 * std::pow(std::hypot(x_m - centre.x_m, y_m - centre.y_m) / width_m, 2)));
    });
    std::transform(field.begin(), field.end(), envelope.begin(), field.begin(), std::multiplies<>());
    return field;
  }
  Field room(const DrawnSetup& setup) {
    Field field = monopole(setup, source(setup), -uniform(0.0, 0.06));
    for (int i = 0; i < 30; ++i) {
      const double distance_m = uniform(0.5, 6.0);
      const double azimuth = uniform(0.0, 6.3);
      const double height = uniform(-1.0, 1.0);
      const double flat = std::sqrt(1.0 - height * height);
      field = sum(
          field,
          monopole(setup, {.x_m = distance_m * flat * std::cos(azimuth), .y_m = distance_m * flat * std::sin(azimuth)},
                   setup.standoff_m + distance_m * height),
          uniform(0.3, 0.9));
    }
    return field;
  }

  std::mt19937 random_;
};

}  // namespace nearfield::test
