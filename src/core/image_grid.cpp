#include "core/image_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nearfield {
namespace {

/// Range of the microphones' coordinates along an axis.
struct Span {
  double low_m;
  double high_m;
  [[nodiscard]] double length_m() const { return high_m - low_m; }
  [[nodiscard]] double middle_m() const { return (low_m + high_m) / 2.0; }
};

Span span_along(const ArrayGeometry& geometry, double MicrophonePosition::*axis) {
  Span span{.low_m = geometry.position_m(0).*axis, .high_m = geometry.position_m(0).*axis};
  for (int channel = 1; channel < geometry.channels(); ++channel) {
    const double at_m = geometry.position_m(channel).*axis;
    span = {.low_m = std::min(span.low_m, at_m), .high_m = std::max(span.high_m, at_m)};
  }
  return span;
}

/// The pitch p that solves (width / p + 1) (height / p + 1) = count. `otherwise_m` if all microphones share one x and
/// one y.
double pitch_of(double width_m, double height_m, int count, double otherwise_m) {
  const double sum_m = width_m + height_m;
  const double pitch_m =
      (sum_m + std::sqrt(sum_m * sum_m + 4.0 * width_m * height_m * (count - 1))) / (2.0 * (count - 1));
  return pitch_m > 0.0 ? pitch_m : otherwise_m;
}

int nodes_along(double length_m, double pitch_m) {
  constexpr double kRounding = 1e-9;  // so that rounding of a length of whole pitches adds no node
  return length_m > 0.0 ? 1 + static_cast<int>(std::ceil(length_m / pitch_m - kRounding)) : 1;
}

}  // namespace

ImageGrid image_grid(const ArrayGeometry& geometry, int upsample) {
  if (geometry.is_grid()) {
    return {.node_rows = geometry.rows,
            .node_columns = geometry.columns,
            .pitch_x_m = geometry.pitch_x_m,
            .pitch_y_m = geometry.pitch_y_m,
            .upsample = upsample};
  }
  const Span x = span_along(geometry, &MicrophonePosition::x_m);
  const Span y = span_along(geometry, &MicrophonePosition::y_m);
  const int count = std::max(geometry.channels(), 2);  // a single microphone has no extent
  const double pitch_m = pitch_of(x.length_m(), y.length_m(), count, geometry.pitch_x_m);
  return {.node_rows = nodes_along(y.length_m(), pitch_m),
          .node_columns = nodes_along(x.length_m(), pitch_m),
          .pitch_x_m = pitch_m,
          .pitch_y_m = pitch_m,
          .centre_x_m = x.middle_m(),
          .centre_y_m = y.middle_m(),
          .upsample = upsample};
}

std::string text_of(const ImageGrid& grid) {
  constexpr double kPerMillimetre = 1e3;
  const auto mm = [](double length_m) { return fmt::format("{:.4g}", length_m * kPerMillimetre); };
  return fmt::format("{} x {} pixels, {} mm apart, x from {} to {} mm, y from {} to {} mm", grid.rows(), grid.columns(),
                     mm(grid.pitch_x_m / grid.upsample), mm(grid.x_m(0)), mm(grid.x_m(grid.columns() - 1)),
                     mm(grid.y_m(0)), mm(grid.y_m(grid.rows() - 1)));
}

}  // namespace nearfield
