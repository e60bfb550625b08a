#pragma once
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "core/geometry.hpp"

/// Closed-form fields for tests of the imager, phasors e^{+jwt}, z = 0 the surface, +z towards the array.
namespace nearfield::test {

using Complex = std::complex<double>;

struct Monopole {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = -0.03;
};

/// Pressure e^{-jkr}/r of a unit monopole.
inline Complex monopole_pressure(const Monopole& source, double k, double x_m, double y_m, double z_m) {
  const double r = std::hypot(x_m - source.x_m, y_m - source.y_m, z_m - source.z_m);
  return std::polar(1.0 / r, -k * r);
}

/// Its field over the microphones of an array whose plane is at height z, [row][column].
inline std::vector<Complex> monopole_field(const Monopole& source, double k, const ArrayGeometry& geometry,
                                           double z_m) {
  std::vector<Complex> field;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    field.push_back(monopole_pressure(source, k, at.x_m, at.y_m, z_m + at.z_m));
  }
  return field;
}

/// Adds white complex noise of the given signal-to-noise ratio over the mean power of the field.
inline void add_noise(std::vector<Complex>& field, double snr_db, std::mt19937& generator) {
  double power = 0.0;
  for (const Complex& value : field) {
    power += std::norm(value);
  }
  power /= static_cast<double>(field.size());
  std::normal_distribution<double> normal(0.0, std::sqrt(power * std::pow(10.0, -snr_db / 10.0) / 2.0));
  for (Complex& value : field) {
    const double real = normal(generator);
    value += Complex(real, normal(generator));
  }
}

}  // namespace nearfield::test
