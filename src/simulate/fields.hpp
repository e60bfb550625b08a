#pragma once
#include <complex>
#include <vector>

#include "core/settings.hpp"

/// Sound fields in closed form, or as one- and two-dimensional integrals exact to about 1e-9. Phasors e^{+jwt}, peak;
/// z = 0 is the surface and +z points to the array; velocities are positive along +z.
namespace nearfield {

struct Point {
  double x_m = 0.0;
  double y_m = 0.0;
  double z_m = 0.0;
};

/// Pressure and velocity along +z at one point.
struct FieldValue {
  std::complex<double> pressure_pa;
  std::complex<double> velocity_m_s;
};

/// Frequency and medium of a field.
struct Tonal {
  double frequency_hz;
  MediumSettings medium;

  [[nodiscard]] double angular_frequency_rad_per_s() const;
  [[nodiscard]] double wavenumber_rad_per_m() const;
};

/// A point source: p = j w rho Q e^{-jkr}/(4 pi r). `baffled` doubles the field, which is that of a source on a rigid
/// plane z = 0.
struct Monopole {
  Point position;
  std::complex<double> volume_velocity_m3_s;
  bool baffled = false;
};
/// Both values are NaN at the source itself.
FieldValue monopole_field(const Monopole& source, const Tonal& tonal, const Point& point);

/// A circular piston in a rigid baffle at z = 0.
struct Piston {
  double x_m = 0.0;
  double y_m = 0.0;
  double radius_m = 0.0;
  std::complex<double> velocity_m_s;
};
/// Schoch's line integral over the rim (A. Schoch, Akust. Z. 6, 1941), exact for z >= 0, for any distance from the rim.
FieldValue piston_field(const Piston& piston, const Tonal& tonal, const Point& point);

struct PlateMode {
  int m = 1;  ///< half waves along x
  int n = 1;  ///< half waves along y
  std::complex<double> velocity_m_s;
};

/// A simply supported rectangular plate in a rigid baffle at z = 0, centred at (x_m, y_m):
/// v = sum of V_mn sin(m pi X/width) sin(n pi Y/height), X and Y counted from the plate's corner of least x and y.
struct Plate {
  double x_m = 0.0;
  double y_m = 0.0;
  double width_m = 0.0;
  double height_m = 0.0;
  std::vector<PlateMode> modes;
};
/// Normal velocity at z = 0; zero outside the plate.
std::complex<double> plate_velocity(const Plate& plate, double x_m, double y_m);
/// Rayleigh's integral p = (j w rho/2 pi) integral of v e^{-jkR}/R dS, for any point with z >= 0, above the plate or
/// not.
std::complex<double> plate_pressure(const Plate& plate, const Tonal& tonal, const Point& point);

}  // namespace nearfield
