#include "simulate/fields.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

using Complex = std::complex<double>;
using std::numbers::pi;

constexpr Complex kJ{0.0, 1.0};

Complex turn(double phase_rad) { return {std::cos(phase_rad), std::sin(phase_rad)}; }

/// Cuts [0, end] into intervals that double in length from `first` on, each with at most the phase that one Gauss rule
/// resolves; calls integrate(begin, length) on each.
template <typename Integrate>
void for_graded_intervals(double end, double first, double phase_per_unit, Integrate integrate) {
  const double longest = kMaxGaussPhase / std::max(phase_per_unit, 1e-300);
  double begin = 0.0;
  while (begin < end) {
    const double length = std::min({std::max(begin, first), longest, end - begin});
    integrate(begin, length);
    begin = begin + length > begin ? begin + length : end;
  }
}

}  // namespace

double Tonal::angular_frequency_rad_per_s() const { return 2 * pi * frequency_hz; }

double Tonal::wavenumber_rad_per_m() const { return angular_frequency_rad_per_s() / medium.sound_speed_m_s; }

FieldValue monopole_field(const Monopole& source, const Tonal& tonal, const Point& point) {
  const double dz = point.z_m - source.position.z_m;
  const double r = std::hypot(point.x_m - source.position.x_m, point.y_m - source.position.y_m, dz);
  if (r == 0.0) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {{kNan, kNan}, {kNan, kNan}};
  }
  const double k = tonal.wavenumber_rad_per_m();
  const Complex jwrho = kJ * tonal.angular_frequency_rad_per_s() * tonal.medium.density_kg_m3;
  const double images = source.baffled ? 2.0 : 1.0;
  const Complex pressure = images * jwrho * source.volume_velocity_m3_s * turn(-k * r) / (4 * pi * r);
  return {pressure, pressure * (kJ * k + 1 / r) * (dz / r) / jwrho};
}

// With r the distance from the axis, and s the one from a point of the rim, s^2 = (a - r)^2 + 4 a r sin^2(psi/2), the
// kernel a(a - r cos psi)/s^2 equals (1 + (a^2 - r^2)/s^2)/2, which is free of cancellation when r is close to a. It is
// sharp over psi ~ |a - r|/a, and the velocity's 1/R over psi ~ z/a: the intervals start at the smaller.
FieldValue piston_field(const Piston& piston, const Tonal& tonal, const Point& point) {
  const double a = piston.radius_m;
  const double r = std::hypot(point.x_m - piston.x_m, point.y_m - piston.y_m);
  const double z = point.z_m;
  const double k = tonal.wavenumber_rad_per_m();
  double sharpest = pi;
  for (const double scale : {std::abs(a - r) / a, z / a}) {
    sharpest = scale > 0 ? std::min(sharpest, scale) : sharpest;
  }
  Complex rim_pressure = 0.0;
  Complex rim_velocity = 0.0;
  for_graded_intervals(pi, sharpest, k * a, [&](double begin, double length) {
    for (const GaussNode& node : gauss_rule(k * a * length)) {
      const double half_sine = std::sin((begin + length * node.position) / 2);
      const double s_squared = (a - r) * (a - r) + 4 * a * r * half_sine * half_sine;
      const double distance = std::sqrt(s_squared + z * z);
      const double kernel = r == a ? 0.5 : (1 + (a - r) * (a + r) / s_squared) / 2;
      const Complex term = length * node.weight * kernel * turn(-k * distance);
      rim_pressure += term;
      rim_velocity += z > 0 ? term * (z / distance) : 0.0;
    }
  });
  const double inside = r < a ? 1.0 : (r == a ? 0.5 : 0.0);
  const Complex direct = inside * turn(-k * z);
  const double impedance = tonal.medium.density_kg_m3 * tonal.medium.sound_speed_m_s;
  return {impedance * piston.velocity_m_s * (direct - rim_pressure / pi),
          piston.velocity_m_s * (direct - rim_velocity / pi)};
}

FieldValue wave_field(const Wave& wave, const Tonal& tonal, const Point& point) {
  const double k = tonal.wavenumber_rad_per_m();
  const double squared = k * k - wave.kx_rad_per_m * wave.kx_rad_per_m - wave.ky_rad_per_m * wave.ky_rad_per_m;
  const Complex kz = squared >= 0 ? Complex(std::sqrt(squared)) : Complex(0.0, -std::sqrt(-squared));
  const double along_x = wave.kx_rad_per_m * point.x_m;
  const double along_y = wave.ky_rad_per_m * point.y_m;
  const Complex shape = wave.shape == Wave::Shape::kPlane
                            ? turn(-along_x - along_y)
                            : Complex(std::sin(along_x + wave.phase_x_rad) * std::sin(along_y + wave.phase_y_rad));
  const Complex pressure = wave.pressure_pa * shape * std::exp(-kJ * kz * point.z_m);
  return {pressure, pressure * kz / (tonal.angular_frequency_rad_per_s() * tonal.medium.density_kg_m3)};
}

}  // namespace nearfield
