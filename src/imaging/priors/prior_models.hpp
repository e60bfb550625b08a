#pragma once
#include <complex>
#include <vector>

#include "imaging/priors/sonah_model.hpp"
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

/// The priors that searches choose among (docs/how/sonah.md).
namespace nearfield {

/// Largest size in bytes of the models of all priors. Above it there are no bending waves, and where the other three
/// are larger, too, the layer alone: start and memory grow with the priors.
inline constexpr double kMostPriorModelBytes = 255e6;
/// Least pitch over the standoff from which on bending waves are among the priors.
inline constexpr double kLeastBendingPitch = 0.8;

/// Models of one prior.
struct PriorModels {
  FieldPrior prior = FieldPrior::kLayer;
  std::vector<SonahModel> of_frequency;
};

/// Prior of the models that a plan alone makes: its own, the layer for auto.
FieldPrior model_prior(const ImagePlan& plan);

/// True for the priors that expect waves along the surface.
bool is_bending(FieldPrior prior);

/// The plan with one of the priors.
ImagePlan with_prior(ImagePlan plan, FieldPrior prior);

/// Bytes of a frequency's model.
double model_bytes(const ImagePlan& plan);

/// Priors that may be in force: several if the plan says auto, searches, and their models take at most
/// kMostPriorModelBytes; else that of the plan's own model. The first one is in force until a search has chosen.
std::vector<FieldPrior> candidate_priors(const ImagePlan& plan);

/// Models of each candidate, in the same order; made on all processors.
std::vector<PriorModels> make_candidate_models(const ImagePlan& plan);

}  // namespace nearfield
