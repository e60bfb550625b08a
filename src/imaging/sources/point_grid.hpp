#pragma once
#include <Eigen/Dense>
#include <complex>
#include <vector>

#include "imaging/sources/point_bounds.hpp"
#include "imaging/sources/source_modes.hpp"
#include "imaging/sources/source_space.hpp"

namespace nearfield {

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
