#pragma once
#include <complex>
#include <vector>

#include "imaging/shared/image_plan.hpp"

namespace nearfield {

/// Waves of the prior of docs/how/sonah.md with directions on a ring of K-space, as a node of a quadrature.
struct PriorRing {
  double kr = 0.0;
  std::complex<double> kz;
  double power = 0.0;  ///< the prior's power density on z = 0, times kr dkr
};

std::vector<PriorRing> prior_rings(const ImagePlan& plan, double k);

}  // namespace nearfield
