#include "simulate/fields.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;

constexpr Complex kJ{0.0, 1.0};
const MediumSettings kAir;

double impedance() { return kAir.density_kg_m3 * kAir.sound_speed_m_s; }

double relative(Complex found, Complex expected) { return std::abs(found - expected) / std::abs(expected); }

using Pressure = std::function<Complex(const Point&)>;

/// Fourth-order central second difference along one axis.
Complex second_difference(const Pressure& p, const Point& at, double Point::*axis, double h) {
  const auto shifted = [&](double by) {
    Point point = at;
    point.*axis += by;
    return p(point);
  };
  return (-shifted(-2 * h) + 16.0 * shifted(-h) - 30.0 * p(at) + 16.0 * shifted(h) - shifted(2 * h)) / (12 * h * h);
}

/// |laplacian p + k^2 p| / (k^2 |p|).
double helmholtz_residual(const Pressure& p, const Tonal& tonal, const Point& at, double h) {
  const double k = tonal.wavenumber_rad_per_m();
  const Complex laplacian = second_difference(p, at, &Point::x_m, h) + second_difference(p, at, &Point::y_m, h) +
                            second_difference(p, at, &Point::z_m, h);
  return std::abs(laplacian + k * k * p(at)) / (k * k * std::abs(p(at)));
}

/// Euler's equation, v = -1/(j w rho) dp/dz, by a fourth-order central difference.
Complex euler_velocity(const Pressure& p, const Tonal& tonal, const Point& at, double h) {
  const auto shifted = [&](double by) { return p({at.x_m, at.y_m, at.z_m + by}); };
  const Complex slope = (shifted(-2 * h) - 8.0 * shifted(-h) + 8.0 * shifted(h) - shifted(2 * h)) / (12 * h);
  return -slope / (kJ * tonal.angular_frequency_rad_per_s() * kAir.density_kg_m3);
}

// Finite differences with h = 0.5 mm: rounding 1e-16 |p|/h^2 against k^2 gives 1e-6 at 500 Hz, truncation (kh)^4 less.
constexpr double kStep = 5e-4;
constexpr double kDifferenceError = 2e-5;

TEST(Monopole, ObeysHelmholtzAndEuler) {
  const Monopole source{{0.05, -0.02, -0.03}, {1e-3, 2e-3}, false};
  for (const double frequency_hz : {500.0, 4000.0}) {
    const Tonal tonal{frequency_hz, kAir};
    const Pressure p = [&](const Point& at) { return monopole_field(source, tonal, at).pressure_pa; };
    const Point at{-0.1, 0.12, 0.2};
    EXPECT_LT(helmholtz_residual(p, tonal, at, kStep), kDifferenceError);
    EXPECT_LT(relative(monopole_field(source, tonal, at).velocity_m_s, euler_velocity(p, tonal, at, kStep)), 1e-7);
  }
}

// The volume velocity is what flows through a small sphere: Q = 4 pi r^2 v for kr << 1.
TEST(Monopole, VolumeVelocity) {
  const Monopole source{{0, 0, 0}, {3e-4, 0}, false};
  const double r = 1e-5;
  const Complex v = monopole_field(source, {100.0, kAir}, {0, 0, r}).velocity_m_s;
  EXPECT_LT(relative(4 * pi * r * r * v, source.volume_velocity_m3_s), 1e-4);  // kr = 2e-5
}

TEST(Monopole, BaffleDoublesAndTheSourceIsNan) {
  Monopole source{{0, 0, 0}, {1e-3, 0}, false};
  const Tonal tonal{800.0, kAir};
  const Complex free_field = monopole_field(source, tonal, {0.1, 0, 0}).pressure_pa;
  source.baffled = true;
  EXPECT_LT(relative(monopole_field(source, tonal, {0.1, 0, 0}).pressure_pa, 2.0 * free_field), 1e-15);
  EXPECT_TRUE(std::isnan(monopole_field(source, tonal, {0, 0, 0}).pressure_pa.real()));
}

// Phasors e^{+jwt}: the phase falls with the distance.
TEST(Monopole, PhaseFallsWithDistance) {
  const Monopole source{{0, 0, 0}, {1e-3, 0}, false};
  const Tonal tonal{1000.0, kAir};
  const Complex near = monopole_field(source, tonal, {0, 0, 0.10}).pressure_pa;
  const Complex far = monopole_field(source, tonal, {0, 0, 0.11}).pressure_pa;
  EXPECT_NEAR(std::arg(far / near), -tonal.wavenumber_rad_per_m() * 0.01, 1e-12);
}

TEST(Piston, OnAxisFormula) {
  const Piston piston{0.01, -0.02, 0.06, {0.5, 0.0}};
  for (const double frequency_hz : {300.0, 3000.0, 12000.0}) {
    const Tonal tonal{frequency_hz, kAir};
    for (const double z : {0.0, 1e-4, 0.03, 0.5}) {
      const double half_path = tonal.wavenumber_rad_per_m() / 2 * (std::hypot(z, piston.radius_m) - z);
      const double expected = 2 * impedance() * 0.5 * std::abs(std::sin(half_path));
      EXPECT_NEAR(std::abs(piston_field(piston, tonal, {0.01, -0.02, z}).pressure_pa), expected, 1e-10 * expected);
    }
  }
}

/// Rayleigh's integral over a piston by the midpoint rule in polar coordinates about the piston's centre.
Complex piston_by_sum(const Piston& piston, const Tonal& tonal, const Point& at, int rings) {
  const double k = tonal.wavenumber_rad_per_m();
  const int spokes = 4 * rings;
  Complex sum = 0.0;
  for (int i = 0; i < rings; ++i) {
    const double s = piston.radius_m * (i + 0.5) / rings;
    for (int j = 0; j < spokes; ++j) {
      const double angle = 2 * pi * (j + 0.5) / spokes;
      const double distance =
          std::hypot(at.x_m - piston.x_m - s * std::cos(angle), at.y_m - piston.y_m - s * std::sin(angle), at.z_m);
      sum += s * std::polar(1.0, -k * distance) / distance;
    }
  }
  const double area = piston.radius_m / rings * 2 * pi / spokes;
  return kJ * tonal.angular_frequency_rad_per_s() * kAir.density_kg_m3 / (2 * pi) * piston.velocity_m_s * sum * area;
}

// The midpoint rule with 400 rings 0.15 mm apart at 3 cm is good to about (0.15/30)^2/24 = 1e-6.
TEST(Piston, BruteForceRayleighSum) {
  const Piston piston{0.0, 0.0, 0.06, {0.3, 0.4}};
  const Tonal tonal{2000.0, kAir};
  for (const double x : {0.0, 0.04, 0.0599999, 0.06, 0.0600001, 0.1, 0.3}) {
    const Point at{x, 0.0, 0.03};
    EXPECT_LT(relative(piston_field(piston, tonal, at).pressure_pa, piston_by_sum(piston, tonal, at, 400)), 3e-6) << x;
  }
}

// At the rim the pressure on the surface is continuous; next to it there is a logarithmic slope, x log x.
TEST(Piston, ContinuousAcrossTheRim) {
  const Piston piston{0.0, 0.0, 0.05, {1.0, 0.0}};
  const Tonal tonal{1000.0, kAir};
  const Complex rim = piston_field(piston, tonal, {0.05, 0, 0}).pressure_pa;
  for (const double step : {1e-12, 1e-9, 1e-6}) {
    const double slope_bound = 10 * step / 0.05 * std::log(0.05 / step) + 1e-12;
    EXPECT_LT(relative(piston_field(piston, tonal, {0.05 - step, 0, 0}).pressure_pa, rim), slope_bound);
    EXPECT_LT(relative(piston_field(piston, tonal, {0.05 + step, 0, 0}).pressure_pa, rim), slope_bound);
  }
}

TEST(Piston, VelocityOnTheSurface) {
  const Piston piston{0.0, 0.0, 0.05, {0.2, -0.1}};
  const Tonal tonal{1500.0, kAir};
  for (const double x : {0.0, 0.03, 0.0499}) {
    EXPECT_LT(relative(piston_field(piston, tonal, {x, 0, 0}).velocity_m_s, piston.velocity_m_s), 1e-14);
    EXPECT_LT(relative(piston_field(piston, tonal, {x, 0, 1e-9}).velocity_m_s, piston.velocity_m_s), 1e-4);
  }
  EXPECT_EQ(piston_field(piston, tonal, {0.051, 0, 0}).velocity_m_s, Complex(0.0));
}

TEST(Piston, ObeysHelmholtzAndEuler) {
  const Piston piston{0.01, 0.0, 0.05, {1.0, 0.5}};
  const Tonal tonal{2500.0, kAir};
  const Pressure p = [&](const Point& at) { return piston_field(piston, tonal, at).pressure_pa; };
  for (const Point& at : {Point{0.02, 0.01, 0.04}, Point{0.06, 0.0, 0.05}, Point{0.2, 0.1, 0.03}}) {
    EXPECT_LT(helmholtz_residual(p, tonal, at, kStep), kDifferenceError);
    EXPECT_LT(relative(piston_field(piston, tonal, at).velocity_m_s, euler_velocity(p, tonal, at, kStep)), 1e-6);
  }
}

/// Rayleigh's integral over a plate by the midpoint rule, `cells` a side.
Complex plate_by_sum(const Plate& plate, const Tonal& tonal, const Point& at, int cells) {
  const double k = tonal.wavenumber_rad_per_m();
  const double dx = plate.width_m / cells;
  const double dy = plate.height_m / cells;
  Complex sum = 0.0;
  for (int i = 0; i < cells; ++i) {
    for (int j = 0; j < cells; ++j) {
      Complex v = 0.0;
      for (const PlateMode& mode : plate.modes) {
        v += mode.velocity_m_s * std::sin(mode.m * pi * (i + 0.5) / cells) * std::sin(mode.n * pi * (j + 0.5) / cells);
      }
      const double x = plate.x_m + (i + 0.5) * dx - plate.width_m / 2;
      const double y = plate.y_m + (j + 0.5) * dy - plate.height_m / 2;
      const double distance = std::hypot(at.x_m - x, at.y_m - y, at.z_m);
      sum += v * std::polar(1.0, -k * distance) / distance;
    }
  }
  return kJ * tonal.angular_frequency_rad_per_s() * kAir.density_kg_m3 / (2 * pi) * sum * dx * dy;
}

const Plate kPlate{0.03, -0.01, 0.42, 0.30, {{1, 1, {1e-3, 0}}, {3, 2, {0, 2e-3}}, {2, 5, {-1e-3, 1e-3}}}};

// The midpoint rule's error is of second order (1e-5 with 400 cells); one Richardson step leaves the fourth.
TEST(Plate, BruteForceRayleighSum) {
  for (const double frequency_hz : {50.0, 500.0, 3000.0}) {
    const Tonal tonal{frequency_hz, kAir};
    for (const Point& at : {Point{0.1, 0.05, 0.03}, Point{0.03, -0.01, 0.03}, Point{-0.18, 0.1, 0.03},
                            Point{0.24, 0.14, 0.03}, Point{0.31, -0.31, 0.03}, Point{0.03, 0.3, 0.05}}) {
      const Complex expected =
          (4.0 * plate_by_sum(kPlate, tonal, at, 300) - plate_by_sum(kPlate, tonal, at, 150)) / 3.0;
      EXPECT_LT(relative(plate_pressure(kPlate, tonal, at), expected), 5e-7)
          << frequency_hz << " Hz at " << at.x_m << ", " << at.y_m;
    }
  }
}

// On the surface the brute-force sum is singular; the integral is continuous in z, with a slope of dp/dz = -j w rho v.
TEST(Plate, SurfacePressureIsTheLimit) {
  const Tonal tonal{1000.0, kAir};
  for (const Point& at : {Point{0.1, 0.05, 0}, Point{0.24, 0.0, 0}, Point{0.3, 0.2, 0}, Point{0.24, 0.14, 0}}) {
    const Complex surface = plate_pressure(kPlate, tonal, at);
    const double scale = std::abs(plate_pressure(kPlate, tonal, {0.1, 0.05, 0}));
    for (const double z : {1e-12, 1e-7, 1e-5}) {
      const Complex slope =
          -kJ * tonal.angular_frequency_rad_per_s() * kAir.density_kg_m3 * plate_velocity(kPlate, at.x_m, at.y_m);
      const Complex near = plate_pressure(kPlate, tonal, {at.x_m, at.y_m, z});
      EXPECT_LT(std::abs(near - surface - slope * z) / scale, 1e-9 + 50 * z * z / 0.01);
    }
  }
}

TEST(Plate, ContinuousAcrossTheEdge) {
  const Tonal tonal{1000.0, kAir};
  const double edge = 0.03 + 0.21;
  const Complex on = plate_pressure(kPlate, tonal, {edge, 0.02, 0});
  for (const double step : {-1e-13, -1e-10, -1e-8, 1e-13, 1e-10, 1e-8}) {
    EXPECT_LT(relative(plate_pressure(kPlate, tonal, {edge + step, 0.02, 0}), on), 1e-6);
  }
}

TEST(Plate, ObeysHelmholtzAndTheBoundaryCondition) {
  const Tonal tonal{1200.0, kAir};
  const Pressure p = [&](const Point& at) { return plate_pressure(kPlate, tonal, at); };
  EXPECT_LT(helmholtz_residual(p, tonal, {0.15, 0.05, 0.05}, kStep), kDifferenceError);
  EXPECT_LT(helmholtz_residual(p, tonal, {0.30, 0.10, 0.05}, kStep), kDifferenceError);
  // Euler at 0.5 and 1 mm, continued to the surface in a line; the curvature left is (54 rad/m * 1 mm)^2 / 2 = 0.15 %.
  const Complex at_half = euler_velocity(p, tonal, {0.10, 0.05, 5e-4}, 1e-4);
  const Complex at_one = euler_velocity(p, tonal, {0.10, 0.05, 1e-3}, 1e-4);
  EXPECT_LT(relative(2.0 * at_half - at_one, plate_velocity(kPlate, 0.10, 0.05)), 2e-3);
}

TEST(Plate, VelocityIsZeroOnTheBaffle) {
  EXPECT_EQ(plate_velocity(kPlate, 0.25, 0.0), Complex(0.0));
  EXPECT_EQ(plate_velocity(kPlate, 0.0, 0.15), Complex(0.0));
  EXPECT_LT(std::abs(plate_velocity(kPlate, 0.24, 0.0)), 1e-16);
}

}  // namespace
}  // namespace nearfield
