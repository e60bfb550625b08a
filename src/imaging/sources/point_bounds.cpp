#include "imaging/sources/point_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "imaging/sources/field_source.hpp"

namespace nearfield {
namespace {

/// A source's least and largest depth over the standoff.
constexpr double kLeastDepth = 0.1;
constexpr double kMostDepth = 4.0;
/// Its least depth over the larger pitch: the best fit of a patch of the surface that is smaller than a pitch, such as
/// a piston, is a point right behind it, whose velocity there is unbounded; no microphone can tell how large the patch
/// is.
constexpr double kLeastDepthOfPitch = 0.5;
/// A disc's least radius over the larger pitch: no microphone can tell a smaller one from a point.
constexpr double kLeastRadiusOfPitch = 0.5;
/// A disc's largest radius over the standoff.
constexpr double kMostRadius = 4.0;
/// A disc's radius over the depth of a point whose field decays about like the disc's.
constexpr double kRadiusOfDepth = 2.0;
/// Largest relative change per step of a point source's depth below the surface, or of a disc's radius.
constexpr double kMostDeeper = 0.5;

}  // namespace

PointBounds::PointBounds(const ImagePlan& plan, double step_x_m, double step_y_m)
    : standoff_m_(plan.standoff_m),
      step_x_m_(step_x_m),
      step_y_m_(step_y_m),
      floor_m_(std::min(0.0, plan.standoff_m - plan.largest_distance_m())) {
  const ImageGrid nodes = image_grid(plan.geometry);
  larger_pitch_m_ = std::max(nodes.pitch_x_m, nodes.pitch_y_m);
  least_x_m_ = nodes.x_m(0) - plan.standoff_m - step_x_m;
  most_x_m_ = nodes.x_m(nodes.node_columns - 1) + plan.standoff_m + step_x_m;
  least_y_m_ = nodes.y_m(0) - plan.standoff_m - step_y_m;
  most_y_m_ = nodes.y_m(nodes.node_rows - 1) + plan.standoff_m + step_y_m;
}

double PointBounds::bounded_depth_m(double depth_m) const {
  return std::max({depth_m, kLeastDepth * standoff_m_, kLeastDepthOfPitch * larger_pitch_m_});
}

PointSource PointBounds::bounded(PointSource point) const {
  const double least_radius_m = kLeastRadiusOfPitch * larger_pitch_m_;
  return {.x_m = std::clamp(point.x_m, least_x_m_, most_x_m_),
          .y_m = std::clamp(point.y_m, least_y_m_, most_y_m_),
          .z_m = point.is_disc() ? floor_m_
                                 : std::clamp(point.z_m, floor_m_ - bounded_depth_m(kMostDepth * standoff_m_),
                                              floor_m_ - bounded_depth_m(0.0)),
          .radius_m = point.is_disc() ? std::clamp(point.radius_m, least_radius_m,
                                                   std::max(least_radius_m, kMostRadius * standoff_m_))
                                      : 0.0};
}

double PointBounds::move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const {
  const double size_m = point.is_disc() ? point.radius_m : depth_m(point);
  PointSource next = point;
  next.x_m += std::clamp(by(0), -step_x_m_, step_x_m_);
  next.y_m += std::clamp(by(1), -step_y_m_, step_y_m_);
  third_of(next) += std::clamp(by(2), -kMostDeeper * size_m, kMostDeeper * size_m);
  next = bounded(next);
  const double largest =
      std::max({std::abs(next.x_m - point.x_m) / step_x_m_, std::abs(next.y_m - point.y_m) / step_y_m_,
                std::abs(third_of(next) - third_of(point)) / size_m});
  point = next;
  return largest;
}

PointSource PointBounds::disc_of(const PointSource& point) const {
  return bounded({.x_m = point.x_m, .y_m = point.y_m, .z_m = floor_m_, .radius_m = kRadiusOfDepth * depth_m(point)});
}

PointSource PointBounds::point_of(const PointSource& disc) const {
  return bounded({.x_m = disc.x_m, .y_m = disc.y_m, .z_m = floor_m_ - disc.radius_m / kRadiusOfDepth});
}

void PointBounds::stay_before(double wall_y_m, bool is_above) {
  double& bound_m = is_above ? least_y_m_ : most_y_m_;
  const double beside_m = 0.25 * step_y_m_;
  bound_m = is_above ? std::max(bound_m, wall_y_m + beside_m) : std::min(bound_m, wall_y_m - beside_m);
}

}  // namespace nearfield
