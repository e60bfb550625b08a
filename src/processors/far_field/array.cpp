#include "processors/far_field/array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

namespace nearfield::far_field {

std::vector<Position> microphones_of(const ArrayGeometry& geometry) {
  std::vector<Position> positions;
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const MicrophonePosition at = geometry.position_m(channel);
    positions.push_back({at.x_m, at.y_m, at.z_m});
  }
  return positions;
}

void add_places(const ArrayGeometry& geometry, ResultHeader& header) {
  if (!geometry.placement) {
    return;
  }
  Axis places{.name = "microphone", .unit = "m", .values = {}, .components = 3};
  for (const Position& one : microphones_of(geometry)) {
    places.values.insert(places.values.end(), {one.x, one.y, one.z});
  }
  header.axes.push_back(std::move(places));
}

namespace {

using std::numbers::pi;

/// Chebyshev polynomial of degree n at x >= 0.
double chebyshev(int n, double x) { return x > 1.0 ? std::cosh(n * std::acosh(x)) : std::cos(n * std::acos(x)); }

double amplitude_ratio(double level_db) { return std::pow(10.0, level_db / 20.0); }

/// Needs a line of more than one microphone.
std::vector<double> dolph_chebyshev(int count, double side_lobe_db) {
  const double widest = std::cosh(std::acosh(amplitude_ratio(side_lobe_db)) / (count - 1));
  std::vector<double> weights(static_cast<std::size_t>(count), chebyshev(count - 1, widest));
  for (int n = 0; n < count; ++n) {
    for (int k = 1; k <= (count - 1) / 2; ++k) {
      weights[static_cast<std::size_t>(n)] += 2.0 * chebyshev(count - 1, widest * std::cos(pi * k / count)) *
                                              std::cos(2.0 * pi * k * (n - (count - 1) / 2.0) / count);
    }
  }
  return weights;
}

/// F_m of Taylor's distribution with `equal` nearly equal side lobes.
double taylor_coefficient(int m, int equal, double a) {
  const double stretch = equal * equal / (a * a + (equal - 0.5) * (equal - 0.5));
  double value = m % 2 == 0 ? -0.5 : 0.5;
  for (int n = 1; n < equal; ++n) {
    value *= 1.0 - m * m / (stretch * (a * a + (n - 0.5) * (n - 0.5)));
    value /= n == m ? 1.0 : 1.0 - static_cast<double>(m * m) / (n * n);
  }
  return value;
}

std::vector<double> taylor(int count, double side_lobe_db) {
  constexpr int kFewestEqual = 4;
  const double a = std::acosh(amplitude_ratio(side_lobe_db)) / pi;
  const int equal = std::max(kFewestEqual, static_cast<int>(std::ceil(2.0 * a * a + 0.5)));
  std::vector<double> weights(static_cast<std::size_t>(count), 1.0);
  for (int m = 1; m < equal; ++m) {
    const double coefficient = 2.0 * taylor_coefficient(m, equal, a);
    for (int n = 0; n < count; ++n) {
      weights[static_cast<std::size_t>(n)] += coefficient * std::cos(2.0 * pi * m * (n - (count - 1) / 2.0) / count);
    }
  }
  return weights;
}

std::vector<double> raised_cosine(Shading shading, int count) {
  std::vector<double> weights(static_cast<std::size_t>(count));
  for (int n = 0; n < count; ++n) {
    weights[static_cast<std::size_t>(n)] = shading == Shading::kHann
                                               ? std::pow(std::sin(pi * (n + 1) / (count + 1)), 2.0)
                                               : 0.54 - 0.46 * std::cos(2.0 * pi * n / (count - 1));
  }
  return weights;
}

std::vector<double> unscaled(Shading shading, int count, double side_lobe_db) {
  switch (shading) {
    case Shading::kUniform:
      break;
    case Shading::kHann:
    case Shading::kHamming:
      return raised_cosine(shading, count);
    case Shading::kDolphChebyshev:
      return dolph_chebyshev(count, side_lobe_db);
    case Shading::kTaylor:
      return taylor(count, side_lobe_db);
  }
  return std::vector<double>(static_cast<std::size_t>(count), 1.0);
}

}  // namespace

std::vector<double> line_shading(Shading shading, int count, double side_lobe_db) {
  constexpr double kLeast = 1e-6;  // a weight of 0 would mask a microphone
  std::vector<double> weights = count == 1 ? std::vector<double>{1.0} : unscaled(shading, count, side_lobe_db);
  const double largest = *std::max_element(weights.begin(), weights.end());
  for (double& weight : weights) {
    weight = std::max(weight / largest, kLeast);
  }
  return weights;
}

namespace {

std::vector<double> radial_shading(const SteeringSettings& steering, const ArrayGeometry& geometry) {
  std::vector<Position> microphones = microphones_of(geometry);
  Position centre;
  const auto count = static_cast<double>(microphones.size());
  for (const Position& one : microphones) {
    centre = {centre.x + one.x / count, centre.y + one.y / count, centre.z + one.z / count};
  }
  double radius = 0.0;
  for (const Position& one : microphones) {
    radius = std::max(radius, distance(one, centre));
  }
  const int line = static_cast<int>(std::ceil(2.0 * radius / geometry.pitch_x_m)) + 1;
  const std::vector<double> along = line_shading(steering.shading, line, steering.shading_db);
  std::vector<double> weights;
  for (const Position& one : microphones) {
    // Index on the line, from its middle to its end.
    const double place = (0.5 + 0.5 * distance(one, centre) / radius) * (line - 1);
    const auto below = std::min(static_cast<std::size_t>(place), along.size() - 2);
    const double share = place - static_cast<double>(below);
    weights.push_back(along[below] * (1.0 - share) + along[below + 1] * share);
  }
  return weights;
}

}  // namespace

std::vector<double> array_shading(const SteeringSettings& steering, const ArrayGeometry& geometry) {
  if (!geometry.is_grid()) {
    return radial_shading(steering, geometry);
  }
  const std::vector<double> along_x = line_shading(steering.shading, geometry.columns, steering.shading_db);
  const std::vector<double> along_y = line_shading(steering.shading, geometry.rows, steering.shading_db);
  std::vector<double> weights;
  for (const double of_row : along_y) {
    for (const double of_column : along_x) {
      weights.push_back(of_row * of_column);
    }
  }
  return weights;
}

Float4 float4_of(const Position& position, double fourth) {
  return {static_cast<float>(position.x), static_cast<float>(position.y), static_cast<float>(position.z),
          static_cast<float>(fourth)};
}

std::vector<Float4> position_table(const std::vector<Position>& microphones) {
  std::vector<Float4> table;
  std::transform(microphones.begin(), microphones.end(), std::back_inserter(table),
                 [](const Position& microphone) { return float4_of(microphone, dot(microphone, microphone)); });
  return table;
}

std::vector<std::complex<float>> gain_table(const ArrayPlan& array) {
  return array.gains.empty() ? std::vector<std::complex<float>>(1) : array.gains;
}

std::string literal(double value) { return fmt::format("{:.9e}f", value); }

}  // namespace nearfield::far_field
