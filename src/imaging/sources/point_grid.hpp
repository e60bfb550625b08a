#pragma once
#include <Eigen/Dense>
#include <array>
#include <complex>
#include <vector>

#include "imaging/shared/image_plan.hpp"
#include "imaging/shared/search.hpp"
#include "imaging/sources/field_source.hpp"
#include "imaging/sources/source_modes.hpp"

namespace nearfield {

/// Depths of the grids of candidates behind the surface, over the standoff.
inline constexpr std::array<double, 4> kGridDepths = {0.25, 0.5, 1.0, 2.0};
/// Least distance between positions of these grids, over the standoff.
inline constexpr double kStepOfStandoff = 0.45;

/// Bounds of point sources and discs: behind the imaged places, before the array and a standoff beside it.
class PointBounds {
 public:
  /// step_x_m, step_y_m: from a position of the grid of candidates to its neighbours. The array's extent and its pitch
  /// are those of the images' grid, whose nodes are the microphones of a regular array.
  PointBounds(const ImagePlan& plan, double step_x_m, double step_y_m);
  /// Height below which all sources lie: the surface, or the lowest plane where that is lower.
  [[nodiscard]] double floor_m() const { return floor_m_; }
  [[nodiscard]] double depth_m(const PointSource& point) const { return floor_m_ - point.z_m; }
  /// This depth, or the least allowed one.
  [[nodiscard]] double bounded_depth_m(double depth_m) const;
  /// The point moved to the nearest allowed position; a disc's centre and radius likewise.
  [[nodiscard]] PointSource bounded(PointSource point) const;
  /// Moves it by `by`, but at most by a step or half of its size; returns the largest change in these units.
  [[nodiscard]] double move(PointSource& point, const Eigen::Ref<const Eigen::VectorXd>& by) const;
  /// The disc, in the lowest imaged plane, whose field at the microphones decays about like the point's.
  [[nodiscard]] PointSource disc_of(const PointSource& point) const;
  /// The point whose field decays about like the disc's.
  [[nodiscard]] PointSource point_of(const PointSource& disc) const;
  /// Keeps all at least a quarter of a step above the plane y = wall_y_m, or below it: right in it a source and its
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

/// Monopoles at the grid of positions for a matched filter: over the array and a standoff beside it, at four depths
/// behind the surface.
class PointGrid {
 public:
  /// `model` must outlive it.
  PointGrid(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  /// Position with the largest output of the matched filter. `white`: modes of the residual over power + noise, for
  /// noise number `step`; `prior` is the residual's power t.
  [[nodiscard]] Candidate strongest(const Eigen::VectorXcd& white, int step, double prior);
  /// Bounds of its positions and of sources moved from them.
  [[nodiscard]] const PointBounds& bounds() const { return bounds_; }

 private:
  /// Positions along an axis, in thirds of the pitch from the first microphone.
  struct Axis {
    int microphones = 0;
    double pitch_m = 0.0;
    int first = 0;
    int step = 0;
    int count = 0;
    [[nodiscard]] double step_m() const { return pitch_m * step / 3.0; }
    [[nodiscard]] int thirds(Eigen::Index place) const { return first + step * static_cast<int>(place); }
    [[nodiscard]] double from_centre_m(Eigen::Index place) const {
      return pitch_m * (thirds(place) / 3.0 - (microphones - 1) / 2.0);
    }
    /// Largest distance in thirds between a position and a microphone.
    [[nodiscard]] int longest() const;
  };
  static Axis make_axis(int microphones, double pitch_m, double standoff_m);
  [[nodiscard]] Eigen::MatrixXcd at_microphones(const Eigen::VectorXcd& white) const;
  [[nodiscard]] Eigen::MatrixXcd filter(const Eigen::MatrixXcd& field, double distance_m) const;
  void fill_powers();

  ImagePlan plan_;
  double k_;
  const SonahModel* model_;
  SourceModes modes_;
  Axis x_;
  Axis y_;
  PointBounds bounds_;
  std::vector<Eigen::MatrixXf> powers_;  ///< g^H (C + n)^{-1} g on a quarter of the plane. [depth](noise step, y and x)
  Eigen::Index quarter_columns_ = 0;     ///< positions of powers_ along x, from the centre on
  Eigen::Index quarter_rows_ = 0;
};

}  // namespace nearfield
