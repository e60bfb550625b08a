#include "core/field_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/numerics.hpp"

namespace nearfield {
namespace {

/// Upper limit of the integral above k, in 1 / (2 distance): e^-14 is below the noise that predictions assume.
constexpr double kEnd = 14.0;
/// Simpson's intervals; at 16 pitches of 2 cm and 3 cm of distance a period of J0 has 20 of them.
constexpr int kIntervals = 256;

double distance_m(const ArrayGeometry& geometry, int one, int other) {
  const MicrophonePosition a = geometry.position_m(one);
  const MicrophonePosition b = geometry.position_m(other);
  return std::hypot(a.x_m - b.x_m, a.y_m - b.y_m, a.z_m - b.z_m);
}

}  // namespace

FieldCovariance::FieldCovariance(const ArrayGeometry& geometry, double wavenumber_rad_per_m, double distance_m)
    : geometry_(geometry),
      wavenumber_rad_per_m_(wavenumber_rad_per_m),
      known_(static_cast<std::size_t>(geometry.channels()), std::numeric_limits<double>::quiet_NaN()) {
  // With u = sqrt(kr^2 - k^2), kr dkr = u du.
  const double step = kEnd / (2.0 * distance_m * kIntervals);
  for (int i = 0; i <= kIntervals; ++i) {
    const double u = i * step;
    const double simpson = i == 0 || i == kIntervals ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0);
    nodes_rad_per_m_.push_back(std::hypot(u, wavenumber_rad_per_m));
    powers_.push_back(simpson / 3.0 * step * u * std::exp(-2.0 * distance_m * u));
  }
  whole_ = at_distance(0.0);
}

double FieldCovariance::at_distance(double r_m) const {
  const double k = wavenumber_rad_per_m_;
  // Integral of J0(kr r) kr dkr up to k.
  double sum = r_m > 0.0 ? k * ::j1(k * r_m) / r_m : 0.5 * k * k;
  for (std::size_t i = 0; i < nodes_rad_per_m_.size(); ++i) {
    sum += powers_[i] * ::j0(nodes_rad_per_m_[i] * r_m);
  }
  return sum;
}

double FieldCovariance::between(int rows, int columns) {
  double& value = known_[static_cast<std::size_t>(std::abs(rows) * geometry_.columns + std::abs(columns))];
  if (std::isnan(value)) {
    value = at_distance(std::hypot(rows * geometry_.pitch_y_m, columns * geometry_.pitch_x_m)) / whole_;
  }
  return value;
}

double FieldCovariance::between_channels(int one, int other) {
  if (!geometry_.is_grid()) {
    return at_distance(distance_m(geometry_, one, other)) / whole_;
  }
  const int columns = geometry_.columns;
  return between(one / columns - other / columns, one % columns - other % columns);
}

namespace {

/// At most `most` channels, nearest first.
std::vector<int> nearest_of(std::vector<std::pair<double, int>>& found, std::size_t most) {
  std::sort(found.begin(), found.end());
  std::vector<int> channels(std::min(most, found.size()));
  std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(channels.size()), channels.begin(),
                 [](const auto& one) { return one.second; });
  return channels;
}

std::vector<int> nearest_in_space(const ArrayGeometry& geometry, std::span<const std::uint8_t> usable, int channel,
                                  std::size_t most) {
  std::vector<std::pair<double, int>> found;  // distance in m
  for (int other = 0; other < geometry.channels(); ++other) {
    if (other != channel && usable[static_cast<std::size_t>(other)] != 0) {
      found.emplace_back(distance_m(geometry, channel, other), other);
    }
  }
  return nearest_of(found, most);
}

}  // namespace

std::vector<int> nearest_usable(const ArrayGeometry& geometry, std::span<const std::uint8_t> usable, int channel,
                                std::size_t most) {
  if (!geometry.is_grid()) {
    return nearest_in_space(geometry, usable, channel, most);
  }
  const int row = channel / geometry.columns;
  const int column = channel % geometry.columns;
  std::vector<std::pair<double, int>> found;  // distance^2 in m^2
  // A growing square; everything outside it is farther than half its side.
  const double pitch_m = std::min(geometry.pitch_x_m, geometry.pitch_y_m);
  for (double radius = 4.0;; radius *= 2.0) {
    found.clear();
    const int rows_m = static_cast<int>(
        std::min(std::ceil(radius * pitch_m / geometry.pitch_y_m), static_cast<double>(geometry.rows)));
    const int columns_m = static_cast<int>(
        std::min(std::ceil(radius * pitch_m / geometry.pitch_x_m), static_cast<double>(geometry.columns)));
    for (int r = std::max(row - rows_m, 0); r <= std::min(row + rows_m, geometry.rows - 1); ++r) {
      for (int c = std::max(column - columns_m, 0); c <= std::min(column + columns_m, geometry.columns - 1); ++c) {
        const int other = r * geometry.columns + c;
        const double y_m = (r - row) * geometry.pitch_y_m;
        const double x_m = (c - column) * geometry.pitch_x_m;
        if (other != channel && usable[static_cast<std::size_t>(other)] != 0) {
          found.emplace_back(x_m * x_m + y_m * y_m, other);
        }
      }
    }
    std::sort(found.begin(), found.end());
    const bool is_all = rows_m >= geometry.rows && columns_m >= geometry.columns;
    const double reach_m = radius * pitch_m;
    if (is_all || (found.size() >= most && found[most - 1].first <= reach_m * reach_m)) {
      break;
    }
  }
  return nearest_of(found, most);
}

MicrophonePrediction predict_microphone(FieldCovariance& covariance, int channel, const std::vector<int>& from) {
  const std::size_t n = from.size();
  std::vector<double> matrix(n * n);
  std::vector<double> weights(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      matrix[i * n + j] = covariance.between_channels(from[i], from[j]);
    }
    matrix[i * n + i] = 1.0 + kPredictionNoise;
    weights[i] = covariance.between_channels(from[i], channel);
  }
  const std::vector<double> likeness = weights;
  solve_cholesky(matrix, weights);
  const double explained = std::inner_product(weights.begin(), weights.end(), likeness.begin(), 0.0);
  return {.channels = from, .weights = std::move(weights), .variance = 1.0 + kPredictionNoise - explained};
}

}  // namespace nearfield
