#pragma once
#include <Eigen/Dense>
#include <array>

#include "imaging/pnah/pnah_plan.hpp"
#include "imaging/search.hpp"

namespace nearfield {

/// Depths of the grids of candidates behind the surface, over the standoff.
inline constexpr std::array<double, 4> kGridDepths = {0.25, 0.5, 1.0, 2.0};
/// From place to place of these grids at least, over the standoff.
inline constexpr double kStepOfStandoff = 0.45;

/// Where point sources and discs may be: behind what is imaged, before the array and a standoff beside it.
class PointBounds {
 public:
  /// step_x_m, step_y_m: from a place of the grid of candidates to its neighbours. The array's extent and its pitch are
  /// those of the images' grid, whose nodes are the microphones of a regular array.
  PointBounds(const PnahPlan& plan, double step_x_m, double step_y_m);
  /// Height that all sources lie behind: the surface, or the lowest plane where that is lower.
  [[nodiscard]] double floor_m() const { return floor_m_; }
  [[nodiscard]] double depth_m(const PointSource& point) const { return floor_m_ - point.z_m; }
  /// This depth, or the least one that a source may have.
  [[nodiscard]] double bounded_depth_m(double depth_m) const;
  /// A place moved to the nearest one that a point source may have; a disc's centre and radius likewise.
  [[nodiscard]] PointSource bounded(PointSource point) const;
  /// Moves it by this much, but for a step or half of its size at most; returns the largest change, of these.
  [[nodiscard]] double move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const;
  /// The disc, in the lowest plane that is imaged, whose field at the microphones falls off about as the point's.
  [[nodiscard]] PointSource disc_of(const PointSource& point) const;
  /// Likewise the point of a disc.
  [[nodiscard]] PointSource point_of(const PointSource& disc) const;
  /// All are a quarter of a step above the plane y = wall_y_m, or below it, at least: right in it a source and its
  /// image may cancel each other.
  void stay_before(double wall_y_m, bool is_above);

 private:
  double standoff_m_;
  double step_x_m_;
  double step_y_m_;
  double floor_m_;
  double larger_pitch_m_ = 0.0;
  double least_x_m_ = 0.0;
  double most_x_m_ = 0.0;
  double least_y_m_ = 0.0;
  double most_y_m_ = 0.0;
};

}  // namespace nearfield
