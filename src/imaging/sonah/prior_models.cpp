#include "imaging/sonah/prior_models.hpp"

#include <array>
#include <complex>
#include <utility>

namespace nearfield {
namespace {

constexpr std::array kPriors = {FieldPrior::kLayer, FieldPrior::kDeepLayer, FieldPrior::kPatches};

}  // namespace

FieldPrior model_prior(const PnahPlan& plan) {
  return plan.holography.prior == FieldPrior::kAuto ? FieldPrior::kLayer : plan.holography.prior;
}

PnahPlan with_prior(PnahPlan plan, FieldPrior prior) {
  plan.holography.prior = prior;
  return plan;
}

double model_bytes(const PnahPlan& plan) {
  const MirroredSizes sizes = mirrored_sizes(plan);
  const auto planes = static_cast<double>(plan.holography.planes_m.size());
  const auto samples = static_cast<double>(sizes.samples);
  return kParities * samples *
         (sizeof(float) * samples + sizeof(std::complex<float>) * planes * static_cast<double>(sizes.pixels));
}

std::vector<FieldPrior> candidate_priors(const PnahPlan& plan) {
  const double bytes =
      static_cast<double>(kPriors.size()) * static_cast<double>(plan.frequencies_hz.size()) * model_bytes(plan);
  const bool chooses = plan.holography.prior == FieldPrior::kAuto && plan.holography.search_every_frames > 0 &&
                       bytes <= kMostPriorModelBytes;
  return chooses ? std::vector<FieldPrior>(kPriors.begin(), kPriors.end()) : std::vector<FieldPrior>{model_prior(plan)};
}

std::vector<PriorModels> make_candidate_models(const PnahPlan& plan) {
  std::vector<PriorModels> candidates;
  for (const FieldPrior prior : candidate_priors(plan)) {
    candidates.push_back({.prior = prior, .of_frequency = make_sonah_models(with_prior(plan, prior))});
  }
  return candidates;
}

}  // namespace nearfield
