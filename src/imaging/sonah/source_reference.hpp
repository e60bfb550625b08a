#pragma once
#include <Eigen/Dense>

#include "imaging/pnah/pnah_reference.hpp"
#include "imaging/search.hpp"

/// Fields of plane waves and point sources beside sonah's prior, in double precision from their formulas.
namespace nearfield::reference {

/// e^{j (kx x + ky y)} over the microphones, or over an image's pixels.
Eigen::VectorXcd wave_over(const PlaneWave& wave, const PnahPlan& plan, int upsample);

/// A monopole's pressure e^{-jkr} / r at the microphones.
Eigen::VectorXcd point_over(const PointSource& point, double k, const PnahPlan& plan);

/// The plan's quantity of it at each pixel of a plane, or of the plan's surface, 0 where there is none.
Eigen::VectorXcd point_image(const PointSource& point, double k, double plane_m, const PnahPlan& plan);

}  // namespace nearfield::reference
