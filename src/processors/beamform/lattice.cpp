#include "processors/beamform/lattice.hpp"

#include <algorithm>
#include <cmath>

namespace nearfield::das {
namespace {

/// 2e-6 rad at 10 kHz.
constexpr double kMisfit_m = 1e-8;
/// Larger than the longest transform that can be split.
constexpr int kMostPoints = kMostInAnItem * kMostInAnItem;

std::optional<LatticeAxis> axis_of(int microphones, double pitch_m, double pixel_count, double step_m) {
  if (pixel_count > kMostPoints || pitch_m <= 0.0) {
    return std::nullopt;
  }
  LatticeAxis axis{.microphones = microphones, .pixels = static_cast<int>(pixel_count)};
  const double ratio = pitch_m / step_m;
  if (std::max(ratio, 1.0 / ratio) > kMostPoints) {
    return std::nullopt;
  }
  axis.microphone_step = std::max(static_cast<int>(std::round(ratio)), 1);
  axis.pixel_step = ratio >= 1.0 ? 1 : static_cast<int>(std::round(1.0 / ratio));
  axis.spacing_m = std::min(pitch_m, step_m);
  const double of_microphones = std::abs(axis.microphone_step * axis.spacing_m - pitch_m) * (axis.microphones - 1);
  const double of_pixels = std::abs(axis.pixel_step * axis.spacing_m - step_m) * (axis.pixels - 1);
  return of_microphones + of_pixels <= kMisfit_m && axis.transform() ? std::optional(axis) : std::nullopt;
}

}  // namespace

std::optional<ShortDft> LatticeAxis::transform() const {
  for (int length = differences(); length <= kMostPoints; ++length) {
    if (const std::optional<ShortDft> split = split_dft(length)) {
      return split;
    }
  }
  return std::nullopt;
}

std::optional<Lattice> lattice_of(const far_field::GridSettings& grid, const ArrayGeometry& geometry) {
  if (!geometry.is_grid()) {
    return std::nullopt;
  }
  const far_field::GridCounts counts = counts_of(grid);
  const auto x = axis_of(geometry.columns, geometry.pitch_x_m, counts.columns, grid.step_m);
  const auto y = axis_of(geometry.rows, geometry.pitch_y_m, counts.rows, grid.step_m);
  return x && y ? std::optional(Lattice{*x, *y}) : std::nullopt;
}

}  // namespace nearfield::das
