#include "core/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

namespace nearfield {
namespace {

/// Largest deviation of a microphone from its grid position, as a share of the smaller pitch.
constexpr double kGridTolerance = 0.01;
/// Excludes absurd values; an array that can be computed in single precision is smaller.
constexpr double kFarthestMicrophone_m = 50.0;
/// Two microphones closer than this are at the same position.
constexpr double kSamePlace_m = 1e-6;
/// Ratio of depth to width above which the microphones surround a body instead of facing a surface.
constexpr double kDepthOfBody = 0.1;

double distance2(const MicrophonePosition& a, const MicrophonePosition& b) {
  const double x = a.x_m - b.x_m;
  const double y = a.y_m - b.y_m;
  const double z = a.z_m - b.z_m;
  return x * x + y * y + z * z;
}

/// One axis of a grid: coordinates in `count` evenly spaced clusters.
struct GridAxis {
  std::vector<int> index;  ///< [microphone]
  int count = 1;
  double first_m = 0.0;  ///< position of the first cluster, by least squares
  double pitch_m = 0.0;  ///< pitch by least squares; 0 for a single cluster
};

/// Gaps above half of the largest one separate the clusters.
GridAxis axis_of(const std::vector<double>& coordinates_m) {
  std::vector<std::size_t> order(coordinates_m.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return coordinates_m[a] < coordinates_m[b]; });
  const auto gap_before = [&](std::size_t i) { return coordinates_m[order[i]] - coordinates_m[order[i - 1]]; };
  double largest = 0.0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    largest = std::max(largest, gap_before(i));
  }
  GridAxis axis;
  axis.index.resize(order.size());
  double sum_index = 0.0;
  double sum_square = 0.0;
  double sum_m = 0.0;
  double sum_product = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    axis.count += i > 0 && largest > kSamePlace_m && gap_before(i) > largest / 2.0 ? 1 : 0;
    const double index = axis.count - 1;
    axis.index[order[i]] = axis.count - 1;
    sum_index += index;
    sum_square += index * index;
    sum_m += coordinates_m[order[i]];
    sum_product += index * coordinates_m[order[i]];
  }
  const auto n = static_cast<double>(order.size());
  const double spread = sum_square - sum_index * sum_index / n;
  axis.pitch_m = axis.count > 1 ? (sum_product - sum_index * sum_m / n) / spread : 0.0;
  axis.first_m = (sum_m - axis.pitch_m * sum_index) / n;
  return axis;
}

std::vector<double> coordinates(const std::vector<MicrophonePosition>& positions_m, double MicrophonePosition::*axis) {
  std::vector<double> values(positions_m.size());
  std::transform(positions_m.begin(), positions_m.end(), values.begin(),
                 [axis](const MicrophonePosition& position) { return position.*axis; });
  return values;
}

double extent_of(const std::vector<MicrophonePosition>& positions_m, double MicrophonePosition::*axis) {
  const std::vector<double> values = coordinates(positions_m, axis);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

/// The mean of all positions, with coordinates that are almost 0 set to 0: then positions keep the given values to the
/// last bit. For microphones in layers its z is that of the lowest one; for others around a body it is the given
/// origin, since its surface and sources are given on the same axes.
MicrophonePosition origin_of(const std::vector<MicrophonePosition>& positions_m) {
  const double width_m =
      std::max(extent_of(positions_m, &MicrophonePosition::x_m), extent_of(positions_m, &MicrophonePosition::y_m));
  const bool is_layered = stands_in_layers(positions_m);
  if (!is_layered && extent_of(positions_m, &MicrophonePosition::z_m) > kDepthOfBody * width_m) {
    return {};
  }
  const auto mean = [&](double MicrophonePosition::*axis) {
    const std::vector<double> values = coordinates(positions_m, axis);
    const double mean_m = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    return std::abs(mean_m) < kSamePlace_m ? 0.0 : mean_m;
  };
  const std::vector<double> z_m = coordinates(positions_m, &MicrophonePosition::z_m);
  return {mean(&MicrophonePosition::x_m), mean(&MicrophonePosition::y_m),
          is_layered ? *std::min_element(z_m.begin(), z_m.end()) : mean(&MicrophonePosition::z_m)};
}

bool lies_on(const GridAxis& axis, const std::vector<double>& coordinates_m, double tolerance_m) {
  for (std::size_t i = 0; i < coordinates_m.size(); ++i) {
    if (!(std::abs(coordinates_m[i] - axis.first_m - axis.index[i] * axis.pitch_m) <= tolerance_m)) {
      return false;
    }
  }
  return true;
}

/// The grid formed by the clusters of x and y, if they form one. Scattered microphones have about one cluster each; a
/// single row may deviate slightly from a straight line, in clusters without meaning.
std::optional<ArrayGeometry> grid_of(const std::vector<MicrophonePosition>& positions_m) {
  const std::vector<double> x_m = coordinates(positions_m, &MicrophonePosition::x_m);
  const std::vector<double> y_m = coordinates(positions_m, &MicrophonePosition::y_m);
  GridAxis x = axis_of(x_m);
  GridAxis y = axis_of(y_m);
  const auto flatten = [&](GridAxis& axis, const std::vector<double>& values, const GridAxis& other) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (*most - *least <= 2.0 * kGridTolerance * other.pitch_m) {
      axis = {.index = std::vector<int>(values.size(), 0), .count = 1, .first_m = (*least + *most) / 2.0};
    }
  };
  flatten(x, x_m, y);
  flatten(y, y_m, x);
  const auto microphones = static_cast<int>(positions_m.size());
  if (x.count > kMaxSide || y.count > kMaxSide || x.count * y.count != microphones) {
    return std::nullopt;
  }
  ArrayGeometry geometry{.rows = y.count, .columns = x.count};
  if (microphones > 1) {
    geometry.pitch_x_m = x.count > 1 ? x.pitch_m : y.pitch_m;
    geometry.pitch_y_m = y.count > 1 ? y.pitch_m : x.pitch_m;
  }
  const double tolerance_m = kGridTolerance * std::min(geometry.pitch_x_m, geometry.pitch_y_m);
  const MicrophonePosition centre_m = origin_of(positions_m);
  const GridAxis plane{.index = std::vector<int>(positions_m.size(), 0), .first_m = centre_m.z_m};
  if (!lies_on(x, x_m, tolerance_m) || !lies_on(y, y_m, tolerance_m) ||
      !lies_on(plane, coordinates(positions_m, &MicrophonePosition::z_m), tolerance_m)) {
    return std::nullopt;
  }
  MicrophonePlacement placement{
      .positions_m = positions_m, .channel_of_input = {}, .is_grid = true, .centre_m = centre_m};
  std::vector<bool> is_taken(positions_m.size());
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    const int channel = y.index[i] * x.count + x.index[i];
    if (is_taken[static_cast<std::size_t>(channel)]) {
      return std::nullopt;
    }
    is_taken[static_cast<std::size_t>(channel)] = true;
    placement.channel_of_input.push_back(channel);
  }
  geometry.placement = std::make_shared<const MicrophonePlacement>(std::move(placement));
  return geometry;
}

double largest_neighbour_distance(const std::vector<MicrophonePosition>& positions_m) {
  double largest = 0.0;
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < positions_m.size(); ++other) {
      nearest = other == i ? nearest : std::min(nearest, distance2(positions_m[i], positions_m[other]));
    }
    largest = std::isfinite(nearest) ? std::max(largest, nearest) : largest;
  }
  return std::sqrt(largest);
}

ArrayGeometry irregular_around(const MicrophonePosition& centre_m, std::vector<MicrophonePosition> positions_m) {
  ArrayGeometry geometry{.rows = 1, .columns = static_cast<int>(positions_m.size())};
  geometry.pitch_x_m = largest_neighbour_distance(positions_m);
  geometry.pitch_y_m = geometry.pitch_x_m;
  MicrophonePlacement placement{
      .positions_m = std::move(positions_m), .channel_of_input = {}, .is_grid = false, .centre_m = centre_m};
  placement.channel_of_input.resize(placement.positions_m.size());
  std::iota(placement.channel_of_input.begin(), placement.channel_of_input.end(), 0);
  geometry.placement = std::make_shared<const MicrophonePlacement>(std::move(placement));
  return geometry;
}

}  // namespace

double full_scale_pa(double sensitivity_dbfs) { return std::numbers::sqrt2 / std::pow(10.0, sensitivity_dbfs / 20.0); }

bool ArrayGeometry::is_reordered() const {
  if (!placement) {
    return false;
  }
  const std::vector<int>& channels = placement->channel_of_input;
  return !std::is_sorted(channels.begin(), channels.end());
}

bool stands_in_layers(std::span<const MicrophonePosition> positions_m) {
  constexpr std::size_t kMostLayers = 3;
  constexpr double kOfWhole = 0.7;
  constexpr double kDeepest = 0.3;   // depth over width
  constexpr double kLeastGap = 0.2;  // over the distance of microphones that cover the area evenly
  constexpr double kThickest = 0.5;  // thickness of a layer over that gap
  if (positions_m.empty()) {
    return false;
  }
  std::vector<MicrophonePosition> by_z(positions_m.begin(), positions_m.end());
  std::sort(by_z.begin(), by_z.end(),
            [](const MicrophonePosition& a, const MicrophonePosition& b) { return a.z_m < b.z_m; });
  const double width_m = extent_of(by_z, &MicrophonePosition::x_m);
  const double height_m = extent_of(by_z, &MicrophonePosition::y_m);
  const double gap_m = kLeastGap * std::sqrt(width_m * height_m / static_cast<double>(by_z.size()));
  if (by_z.back().z_m - by_z.front().z_m > kDeepest * std::max(width_m, height_m)) {
    return false;
  }
  const auto middle_of = [&](double MicrophonePosition::*axis) {
    const std::vector<double> values = coordinates(by_z, axis);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return (*low + *high) / 2.0;
  };
  const double middle_x_m = middle_of(&MicrophonePosition::x_m);
  const double middle_y_m = middle_of(&MicrophonePosition::y_m);
  std::size_t layers = 0;
  for (auto first = by_z.begin(); first != by_z.end();) {
    const auto end =
        std::adjacent_find(first, by_z.end(), [&](const auto& a, const auto& b) { return b.z_m - a.z_m > gap_m; });
    const auto next = end == by_z.end() ? end : end + 1;
    const std::vector<MicrophonePosition> layer(first, next);
    const bool is_filled = std::any_of(layer.begin(), layer.end(), [&](const MicrophonePosition& at) {
      return std::abs(at.x_m - middle_x_m) < width_m / 4.0 && std::abs(at.y_m - middle_y_m) < height_m / 4.0;
    });
    if (!is_filled || layer.back().z_m - layer.front().z_m > kThickest * gap_m ||
        extent_of(layer, &MicrophonePosition::x_m) < kOfWhole * width_m ||
        extent_of(layer, &MicrophonePosition::y_m) < kOfWhole * height_m) {
      return false;
    }
    ++layers;
    first = next;
  }
  return layers >= 2 && layers <= kMostLayers;
}

MicrophonePosition ArrayGeometry::position_m(int channel) const {
  if (!is_grid()) {
    const MicrophonePosition& given_m = placement->positions_m[static_cast<std::size_t>(channel)];
    const MicrophonePosition& centre_m = placement->centre_m;
    return {given_m.x_m - centre_m.x_m, given_m.y_m - centre_m.y_m, given_m.z_m - centre_m.z_m};
  }
  const int row = channel / columns;
  return {x_m(channel % columns), y_m(row), 0.0};
}

ArrayGeometry ArrayGeometry::in_channel_order() const {
  ArrayGeometry geometry = *this;
  if (is_grid()) {
    geometry.placement = nullptr;
  }
  return geometry;
}

bool operator==(const ArrayGeometry& a, const ArrayGeometry& b) {
  const bool same_places = a.placement == b.placement || (a.placement && b.placement && *a.placement == *b.placement);
  return a.rows == b.rows && a.columns == b.columns && a.pitch_x_m == b.pitch_x_m && a.pitch_y_m == b.pitch_y_m &&
         same_places;
}

std::string flaw_of_positions(std::span<const MicrophonePosition> positions_m) {
  if (positions_m.empty() || positions_m.size() > static_cast<std::size_t>(kMaxMicrophones)) {
    return fmt::format("expected the positions of 1 to {} microphones, found {}", kMaxMicrophones, positions_m.size());
  }
  for (std::size_t i = 0; i < positions_m.size(); ++i) {
    const MicrophonePosition& one = positions_m[i];
    const auto fits = [](double value) { return std::abs(value) <= kFarthestMicrophone_m; };  // false for NaN too
    if (!fits(one.x_m) || !fits(one.y_m) || !fits(one.z_m)) {
      return fmt::format("microphone {}: expected x, y and z from {} to {} m, found {}, {}, {}", i,
                         -kFarthestMicrophone_m, kFarthestMicrophone_m, one.x_m, one.y_m, one.z_m);
    }
    for (std::size_t other = 0; other < i; ++other) {
      if (distance2(one, positions_m[other]) <= kSamePlace_m * kSamePlace_m) {
        return fmt::format("microphone {}: expected a place of its own, found that of microphone {}, {}, {}, {} m", i,
                           other, one.x_m, one.y_m, one.z_m);
      }
    }
  }
  return {};
}

ArrayGeometry geometry_of(std::vector<MicrophonePosition> positions_m) {
  if (std::optional<ArrayGeometry> grid = grid_of(positions_m)) {
    return *grid;
  }
  const MicrophonePosition centre_m = origin_of(positions_m);
  return irregular_around(centre_m, std::move(positions_m));
}

ArrayGeometry irregular_geometry_of(std::vector<MicrophonePosition> positions_m) {
  return irregular_around({}, std::move(positions_m));
}

std::string text_of_size(const ArrayGeometry& geometry) {
  return geometry.is_grid() ? fmt::format("{} x {}", geometry.rows, geometry.columns)
                            : fmt::format("{} irregular", geometry.channels());
}

std::string text_of_microphone(const ArrayGeometry& geometry, int channel) {
  if (geometry.is_grid()) {
    return fmt::format("microphone {} (row {}, column {})", channel, channel / geometry.columns,
                       channel % geometry.columns);
  }
  const MicrophonePosition at = geometry.position_m(channel);
  return fmt::format("microphone {} (x {:.6g} m, y {:.6g} m, z {:.6g} m)", channel, at.x_m, at.y_m, at.z_m);
}

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
