#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/geometry.hpp"

namespace nearfield {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

/// Size of a microphone, the least possible distance of two.
constexpr double kLeastDistance_m = 0.5e-3;
/// Arrays outdoors have microphones a metre or two apart; with larger distances only waves of at most 57 Hz are free of
/// aliasing.
constexpr double kMostDistance_m = 3.0;
/// Tolerated deviation from the array's plane, as a share of its size.
constexpr double kFlatness = 0.01;
/// A smaller tilt is within the precision of construction.
constexpr double kTiltInDegrees = 1.0;
constexpr double kDegrees = 180.0 / std::numbers::pi;
constexpr std::array<char, 3> kNames = {'x', 'y', 'z'};

Vector vector_of(const MicrophonePosition& place) { return {place.x_m, place.y_m, place.z_m}; }

/// Second moments about the mean, m^2.
Matrix moments_of(const ArrayGeometry& geometry) {
  Vector mean{};
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const Vector at = vector_of(geometry.position_m(channel));
    for (std::size_t i = 0; i < 3; ++i) {
      mean[i] += at[i] / geometry.channels();
    }
  }
  Matrix moments{};
  for (int channel = 0; channel < geometry.channels(); ++channel) {
    const Vector at = vector_of(geometry.position_m(channel));
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        moments[i][j] += (at[i] - mean[i]) * (at[j] - mean[j]) / geometry.channels();
      }
    }
  }
  return moments;
}

double along(const Matrix& moments, const Vector& direction) {
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      sum += direction[i] * moments[i][j] * direction[j];
    }
  }
  return std::max(sum, 0.0);
}

/// Plane through the microphones, if there is one.
struct Flat {
  bool is_plane = false;  ///< false for a line
  Vector normal{};        ///< unit length, its largest component above 0
};

/// The plane's normal: in a plane the moments have rank 2, and each column of their adjugate is along the normal.
Flat flat_of(const ArrayGeometry& geometry) {
  const Matrix m = moments_of(geometry);
  const auto minor = [&](std::size_t row, std::size_t column) {
    const std::array<std::size_t, 3> next = {1, 2, 0};
    const std::size_t r = next.at(row);
    const std::size_t c = next.at(column);
    return m[r][c] * m[next.at(r)][next.at(c)] - m[r][next.at(c)] * m[next.at(r)][c];
  };
  const double size2 = m[0][0] + m[1][1] + m[2][2];
  std::size_t largest = 0;
  for (std::size_t i = 1; i < 3; ++i) {
    largest = minor(i, i) > minor(largest, largest) ? i : largest;
  }
  Flat flat;
  if (!(minor(largest, largest) > kFlatness * kFlatness * size2 * size2)) {
    return flat;  // all on a line, or one microphone
  }
  Vector normal = {minor(0, largest), minor(1, largest), minor(2, largest)};
  const double length = std::hypot(normal[0], normal[1], normal[2]);
  for (double& one : normal) {
    one /= length;
  }
  flat.is_plane = along(m, normal) <= kFlatness * kFlatness * size2;
  flat.normal = normal;
  return flat;
}

/// Rounded to three decimals, and never -0.
double rounded(double value) {
  constexpr double kPerUnit = 1000.0;
  return std::round(value * kPerUnit) / kPerUnit + 0.0;
}

/// Rotation seen towards the sources with the file's z up, for both directions.
std::string rotation_of_upright(std::size_t normal) {
  const auto [before, behind] = normal == 1 ? std::pair{AxesOfFile{1, -3, -2}, AxesOfFile{-1, -3, 2}}
                                            : std::pair{AxesOfFile{-2, -3, -1}, AxesOfFile{2, -3, 1}};
  return fmt::format("array.axes: {} turns them where the sources are towards +{}, {} where they are towards -{}",
                     text_of(before), kNames.at(normal), text_of(behind), kNames.at(normal));
}

std::string doubt_of_plane(const ArrayGeometry& geometry) {
  const Flat flat = flat_of(geometry);
  if (!flat.is_plane) {
    return {};
  }
  const double tilt_deg = std::acos(std::min(std::abs(flat.normal[2]), 1.0)) * kDegrees;
  if (tilt_deg < kTiltInDegrees) {
    return {};
  }
  for (const std::size_t normal : {std::size_t{0}, std::size_t{1}}) {
    if (std::acos(std::min(flat.normal.at(normal), 1.0)) * kDegrees < kTiltInDegrees) {
      return fmt::format("the microphones lie in the {}-z plane, images are parallel to x-y; {}", kNames.at(1 - normal),
                         rotation_of_upright(normal));
    }
  }
  const double sign = flat.normal[2] < 0.0 ? -1.0 : 1.0;
  const double across = std::hypot(flat.normal[0], flat.normal[1]);
  return fmt::format(
      "the microphones lie in a plane that is tilted by {:.3g} degrees, images are parallel to x-y; positions that are "
      "turned by {:.3g} degrees about the axis ({:.3g}, {:.3g}, 0) lie in such a plane",
      tilt_deg, tilt_deg, rounded(sign * flat.normal[1] / across), rounded(-sign * flat.normal[0] / across));
}

/// The smallest distance between two microphones.
double least_distance_m(const ArrayGeometry& geometry) {
  if (geometry.is_grid()) {
    return geometry.channels() > 1 ? std::min(geometry.pitch_x_m, geometry.pitch_y_m) : 0.0;
  }
  double least_m = std::numeric_limits<double>::infinity();
  for (int one = 0; one < geometry.channels(); ++one) {
    const Vector a = vector_of(geometry.position_m(one));
    for (int other = 0; other < one; ++other) {
      const Vector b = vector_of(geometry.position_m(other));
      least_m = std::min(least_m, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
    }
  }
  return std::isfinite(least_m) ? least_m : 0.0;
}

std::string doubt_of_unit(const ArrayGeometry& geometry) {
  const double least_m = least_distance_m(geometry);
  if (least_m >= kMostDistance_m) {
    return fmt::format(
        "the microphones are at least {:.4g} m apart, as those of an array in millimetres or centimetres would seem; "
        "lengths are in m",
        least_m);
  }
  if (least_m > 0.0 && std::max(geometry.pitch_x_m, geometry.pitch_y_m) < kLeastDistance_m) {
    return fmt::format(
        "the microphones are at most {:.4g} m from the nearest, less than a microphone's size; lengths are in m",
        std::max(geometry.pitch_x_m, geometry.pitch_y_m));
  }
  return {};
}

}  // namespace

std::string text_of(const AxesOfFile& axes) {
  const auto name = [](int column) {
    return fmt::format("{}{}", column < 0 ? "-" : "", kNames.at(static_cast<std::size_t>(std::abs(column) - 1)));
  };
  return fmt::format("[{}, {}, {}]", name(axes.x), name(axes.y), name(axes.z));
}

MicrophonePosition on_axes(const AxesOfFile& axes, const MicrophonePosition& in_file) {
  const Vector columns = vector_of(in_file);
  const auto pick = [&](int column) {
    const double value = columns.at(static_cast<std::size_t>(std::abs(column) - 1));
    return column < 0 ? 0.0 - value : value;  // never -0
  };
  return {pick(axes.x), pick(axes.y), pick(axes.z)};
}

std::string text_of_origin(const ArrayGeometry& geometry) {
  if (!geometry.placement || geometry.placement->centre_m == MicrophonePosition{}) {
    return {};
  }
  const MicrophonePosition& centre_m = geometry.placement->centre_m;
  return fmt::format(
      "array centred at x {:.4g} m, y {:.4g} m, z {:.4g} m of the given positions, which is the images' origin",
      centre_m.x_m, centre_m.y_m, centre_m.z_m);
}

std::vector<std::string> doubts_of(const ArrayGeometry& geometry) {
  std::vector<std::string> doubts;
  for (std::string& doubt : std::array{doubt_of_unit(geometry), doubt_of_plane(geometry)}) {
    if (!doubt.empty()) {
      doubts.push_back(std::move(doubt));
    }
  }
  return doubts;
}

}  // namespace nearfield
