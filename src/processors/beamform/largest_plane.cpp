#include "processors/beamform/largest_plane.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>

#include "processors/beamform/das_path.hpp"

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

namespace {

constexpr std::size_t kPlaneGroup = 64;

}  // namespace

template <class Value>
LargestPlane<Value>::LargestPlane(const ocl::Device& device, const BeamformPlan& plan, const ocl::Buffer<Value>& maps,
                                  std::size_t images, std::vector<double> lowest_hz)
    : device_(device),
      plan_(plan),
      lowest_hz_(std::move(lowest_hz)),
      limits_on_host_(lowest_hz_.size()),
      distances_m_(
          device_.upload<float>(std::vector<float>(plan_.distances_m.begin(), plan_.distances_m.end()), kStage)),
      limits_m_(device_.allocate<float>(lowest_hz_.size(), kStage)),
      largest_(device_.allocate<Value>(images * plan_.plane_pixels(), kStage)),
      focus_m_(device_.allocate<float>(images * plan_.plane_pixels(), kStage)),
      kernel_(device_
                  .build(kStage, "processors/beamform/focus.cl",
                         {{"PLANES", std::to_string(plan_.planes())},
                          {"PLANE_PIXELS", std::to_string(plan_.plane_pixels())},
                          {"LIMITS", std::to_string(lowest_hz_.size())},
                          {"IS_COMPLEX", std::is_same_v<Value, float> ? "0" : "1"}})
                  .kernel("beamform_focus")) {
  kernel_.set_all(maps, distances_m_, limits_m_, largest_, focus_m_);
}

template <class Value>
void LargestPlane<Value>::use(const MicrophoneMask& mask) {
  constexpr double kQuarter = 0.25;  // 2 lambda (d/D)^2 = d/2 at D^2 / (4 lambda)
  const double side_m = aperture_side_m(plan_, mask);
  std::transform(lowest_hz_.begin(), lowest_hz_.end(), limits_on_host_.begin(), [&](double frequency_hz) {
    return static_cast<float>(kQuarter * side_m * side_m * frequency_hz / plan_.array.medium.sound_speed_m_s);
  });
  device_.enqueue_write(limits_m_, 0, std::span<const float>(limits_on_host_), kStage);
  device_.wait();
}

template <class Value>
void LargestPlane<Value>::enqueue(std::size_t images) {
  kernel_.enqueue(
      {.global_0 = ocl::round_up(plan_.plane_pixels(), kPlaneGroup), .local_0 = kPlaneGroup, .global_1 = images});
}

template class LargestPlane<float>;
template class LargestPlane<std::complex<float>>;

}  // namespace nearfield::das
