#pragma once
#include <Eigen/Dense>
#include <array>

#include "imaging/sources/source_modes.hpp"
#include "imaging/sources/source_space.hpp"

namespace nearfield {

/// Grid of plane waves for a matched filter: over K-space, as far as evanescent waves reach the microphones.
class WaveGrid {
 public:
  /// `model` must outlive it.
  WaveGrid(const ImagePlan& plan, std::size_t frequency, const SonahModel& model);
  /// The wave with the largest output of the matched filter. Arguments like those of PointGrid::strongest().
  [[nodiscard]] Candidate strongest(const Eigen::VectorXcd& white, int step, double prior);
  /// SourceSpace::move().
  [[nodiscard]] double move(PlaneWave& wave, const Eigen::Ref<const Eigen::VectorXd>& by) const;

 private:
  /// Half the microphones of an axis, and the grid's wavenumbers from 0 up.
  struct Axis {
    Eigen::ArrayXd places_m;
    Eigen::ArrayXd grid_rad_per_m;
    std::array<Eigen::MatrixXd, 2> waves;  ///< even, odd: (place, grid)
  };
  [[nodiscard]] Axis make_axis(int microphones, double pitch_m) const;
  [[nodiscard]] const Eigen::MatrixXf& grid_powers();

  const SonahModel* model_;
  SourceModes modes_;
  double most_rad_per_m_;
  Axis x_;
  Axis y_;
  Eigen::MatrixXf powers_;  ///< power of the matched filter over the prior's; (noise step, y and x)
};

}  // namespace nearfield
