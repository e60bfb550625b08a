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

namespace {

/// sin(m angle) for m = 0 .. sines.size() - 1, by sin((m+1)a) = 2 cos(a) sin(m a) - sin((m-1)a).
void fill_sines(double angle, std::vector<double>& sines) {
  const double twice_cosine = 2 * std::cos(angle);
  sines[0] = 0.0;
  sines[1] = std::sin(angle);
  for (std::size_t m = 2; m < sines.size(); ++m) {
    sines[m] = twice_cosine * sines[m - 1] - sines[m - 2];
  }
}

/// The velocity pattern, which the sines extend analytically beyond the plate.
class Pattern {
 public:
  explicit Pattern(const Plate& plate) : plate_(plate) {
    int most_m = 1;
    int most_n = 1;
    for (const PlateMode& mode : plate.modes) {
      most_m = std::max(most_m, mode.m);
      most_n = std::max(most_n, mode.n);
    }
    sines_x_.resize(static_cast<std::size_t>(most_m) + 1);
    sines_y_.resize(static_cast<std::size_t>(most_n) + 1);
    wavenumber_rad_per_m_ = std::hypot(most_m * pi / plate.width_m, most_n * pi / plate.height_m);
  }

  [[nodiscard]] double wavenumber_rad_per_m() const { return wavenumber_rad_per_m_; }

  Complex operator()(double x_m, double y_m) {
    fill_sines(pi * ((x_m - plate_.x_m) / plate_.width_m + 0.5), sines_x_);
    fill_sines(pi * ((y_m - plate_.y_m) / plate_.height_m + 0.5), sines_y_);
    Complex sum = 0.0;
    for (const PlateMode& mode : plate_.modes) {
      sum +=
          mode.velocity_m_s * (sines_x_[static_cast<std::size_t>(mode.m)] * sines_y_[static_cast<std::size_t>(mode.n)]);
    }
    return sum;
  }

 private:
  const Plate& plate_;
  std::vector<double> sines_x_;
  std::vector<double> sines_y_;
  double wavenumber_rad_per_m_ = 0.0;
};

/// Integral of v e^{-jkR} dR along the ray from the field point's foot in the direction (ux, uy) up to the distance s.
/// R = z + t^2 makes the in-plane distance t sqrt(2z + t^2) smooth where R's own square root is not; the remaining root
/// bends at t ~ sqrt(2z), beyond which the intervals triple in length.
Complex integrate_ray(Pattern& pattern, double k, const Point& point, double ux, double uy, double s) {
  const double z = point.z_m;
  const double end = std::sqrt(std::hypot(s, z) - z);
  const double bend = std::sqrt(2 * z);
  const double phase_rate = (k + pattern.wavenumber_rad_per_m()) * s / std::max(end, 1e-300);
  const double longest = kMaxGaussPhase / 2 / std::max(phase_rate, 1e-300);
  Complex sum = 0.0;
  double begin = 0.0;
  while (begin < end) {
    double length = bend > 0 && end > 1.5 * bend ? std::max(2 * begin, bend) : end;
    length = std::min({length, longest, end - begin});
    for (const GaussNode& node : gauss_rule(2 * phase_rate * length)) {
      const double t = begin + length * node.position;
      const double along = t * std::sqrt(2 * z + t * t);
      const double phase = -k * (z + t * t);
      sum += pattern(point.x_m + along * ux, point.y_m + along * uy) *
             (Complex(std::cos(phase), std::sin(phase)) * (2 * t * length * node.weight));
    }
    begin = begin + length > begin ? begin + length : end;
  }
  return sum;
}

/// An edge as seen from the foot of the field point: at the distance `distance` along (nx, ny), outward; it runs from
/// `begin` to `end` along (-ny, nx). The distance is negative when the foot lies beyond the edge.
struct Edge {
  double distance, nx, ny, begin, end;
};

std::array<Edge, 4> edges_from(const Plate& plate, const Point& point) {
  const double left = plate.x_m - plate.width_m / 2 - point.x_m;
  const double right = plate.x_m + plate.width_m / 2 - point.x_m;
  const double low = plate.y_m - plate.height_m / 2 - point.y_m;
  const double high = plate.y_m + plate.height_m / 2 - point.y_m;
  return {
      {{right, 1, 0, low, high}, {high, 0, 1, -right, -left}, {-left, -1, 0, -high, -low}, {-low, 0, -1, left, right}}};
}

/// Integral over the triangle between the foot and an edge. Along the edge t = d sinh(u), so that the angle's
/// d(theta) = du / cosh(u) is smooth however close the foot is to the edge.
Complex integrate_triangle(Pattern& pattern, double k, const Point& point, const Edge& edge) {
  constexpr double kLongest = 3.0;  // d(theta)/du has poles at +-j pi/2
  const double d = std::abs(edge.distance);
  const double outward = edge.distance < 0 ? -1.0 : 1.0;
  const double first = std::asinh(edge.begin / d);
  const double last = std::asinh(edge.end / d);
  const double phase_rate = k + pattern.wavenumber_rad_per_m();
  const double most_phase = phase_rate * (edge.end - edge.begin);
  const double intervals = std::ceil(std::max((last - first) / kLongest, most_phase / (kMaxGaussPhase / 2)));
  const double length = (last - first) / intervals;
  Complex sum = 0.0;
  for (int i = 0; i < static_cast<int>(intervals); ++i) {
    const double begin = first + length * i;
    const double phase = phase_rate * d * (std::sinh(begin + length) - std::sinh(begin));
    for (const GaussNode& node : gauss_rule(phase)) {
      const double u = begin + length * node.position;
      const double cosh_u = std::cosh(u);
      const double across = std::tanh(u);
      const double ux = outward * edge.nx / cosh_u - across * edge.ny;
      const double uy = outward * edge.ny / cosh_u + across * edge.nx;
      sum += integrate_ray(pattern, k, point, ux, uy, d * cosh_u) * (length * node.weight / cosh_u);
    }
  }
  return outward * sum;
}

}  // namespace

std::complex<double> plate_velocity(const Plate& plate, double x_m, double y_m) {
  const bool inside = std::abs(x_m - plate.x_m) <= plate.width_m / 2 && std::abs(y_m - plate.y_m) <= plate.height_m / 2;
  return inside ? Pattern(plate)(x_m, y_m) : Complex(0.0);
}

// In polar coordinates about the foot of the field point dS/R = dR d(theta), which removes the 1/R. The rectangle is
// the signed sum of the triangles between the foot and its edges: what one triangle covers outside the plate, where the
// sines continue, another subtracts again.
std::complex<double> plate_pressure(const Plate& plate, const Tonal& tonal, const Point& point) {
  constexpr double kOnTheEdge = 1e-14;  // the triangle's integral vanishes like d log d
  Pattern pattern(plate);
  Complex sum = 0.0;
  for (const Edge& edge : edges_from(plate, point)) {
    if (std::abs(edge.distance) > kOnTheEdge * (edge.end - edge.begin)) {
      sum += integrate_triangle(pattern, tonal.wavenumber_rad_per_m(), point, edge);
    }
  }
  return Complex(0.0, tonal.frequency_hz * tonal.medium.density_kg_m3) * sum;
}

}  // namespace nearfield
