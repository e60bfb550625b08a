#pragma once
#include <Eigen/Dense>
#include <algorithm>
#include <complex>
#include <optional>
#include <vector>

#include "imaging/sonah/field_source.hpp"

namespace nearfield {

/// A source that a matched filter proposes, and the filter's output: |g^H (C + n)^{-1} r|^2 / (g^H (C + n)^{-1} g t).
struct Candidate {
  FieldSource source;
  double strength = 0.0;
};

/// Monopoles at places that a matched filter looks at: over the array and a standoff beside it, at four depths behind
/// the surface.
class PointGrid {
 public:
  /// `model` must outlive it.
  PointGrid(const PnahPlan& plan, std::size_t frequency, const SonahModel& model);
  /// The place with the largest output of the matched filter. `white`: modes of the residual over power + noise, of
  /// noise number `step`; `prior` is the residual's power t.
  [[nodiscard]] Candidate strongest(const Eigen::VectorXcd& white, int step, double prior);
  /// From a place to its neighbours along x and y.
  [[nodiscard]] double step_x_m() const { return x_.step_m(); }
  [[nodiscard]] double step_y_m() const { return y_.step_m(); }
  /// Behind the surface, or behind the lowest plane where that is lower.
  [[nodiscard]] double depth_m(const PointSource& point) const { return floor_m_ - point.z_m; }
  /// A place moved to the nearest one that a point source may have; a disc's centre and radius likewise.
  [[nodiscard]] PointSource bounded(PointSource point) const;
  /// The disc, in the lowest plane that is imaged, whose field at the microphones falls off about as the point's.
  [[nodiscard]] PointSource disc_of(const PointSource& point) const;
  /// Likewise the point of a disc.
  [[nodiscard]] PointSource point_of(const PointSource& disc) const;

 private:
  /// Places along an axis, in thirds of the pitch from the first microphone.
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
    /// Most thirds between a place and a microphone.
    [[nodiscard]] int longest() const;
  };
  static Axis make_axis(int microphones, double pitch_m, double standoff_m);
  [[nodiscard]] Eigen::MatrixXcd at_microphones(const Eigen::VectorXcd& white) const;
  [[nodiscard]] Eigen::MatrixXcd filter(const Eigen::MatrixXcd& field, double distance_m) const;
  void fill_powers();
  [[nodiscard]] double larger_pitch_m() const { return std::max(x_.pitch_m, y_.pitch_m); }
  /// This depth, or the least one that a source may have.
  [[nodiscard]] double bounded_depth_m(double depth_m) const;

  PnahPlan plan_;
  double k_;
  const SonahModel* model_;
  SourceModes modes_;
  Axis x_;
  Axis y_;
  double floor_m_;                       ///< height that all sources lie behind
  std::vector<Eigen::MatrixXd> powers_;  ///< g^H (C + n)^{-1} g of a quarter of the plane. [depth](noise step, y and x)
  Eigen::Index quarter_columns_ = 0;     ///< places of powers_ along x, from the centre on
  Eigen::Index quarter_rows_ = 0;
};

}  // namespace nearfield
