#include "imaging/priors/prior_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <utility>

namespace nearfield {
namespace {

/// Priors that every array may have.
constexpr std::array kPriors = {FieldPrior::kLayer, FieldPrior::kDeepLayer, FieldPrior::kPatches};
constexpr std::array kBendingPriors = {FieldPrior::kBendingWaves, FieldPrior::kShortBendingWaves};

/// True if the microphones are so far apart that other priors take bending waves for noise; denser arrays gain nothing
/// that were worth two more models.
bool offers_bending_waves(const ImagePlan& plan) {
  return std::max(plan.geometry.pitch_x_m, plan.geometry.pitch_y_m) >= kLeastBendingPitch * plan.standoff_m;
}

}  // namespace

FieldPrior model_prior(const ImagePlan& plan) {
  return plan.holography.prior == FieldPrior::kAuto ? FieldPrior::kLayer : plan.holography.prior;
}

bool is_bending(FieldPrior prior) {
  return std::find(kBendingPriors.begin(), kBendingPriors.end(), prior) != kBendingPriors.end();
}

ImagePlan with_prior(ImagePlan plan, FieldPrior prior) {
  plan.holography.prior = prior;
  return plan;
}

double model_bytes(const ImagePlan& plan) {
  const MirroredSizes sizes = mirrored_sizes(plan);
  const auto planes = static_cast<double>(plan.holography.planes_m.size());
  const auto samples = static_cast<double>(sizes.samples);
  // Kept factors of square arrays: all of class 1 and half of classes 0 and 3, each with its diagonal.
  const auto kept = [&](double places, bool is_mirrored) {
    return is_mirrored ? 2.0 * places + std::sqrt(places) : kParities * places;
  };
  const bool is_mirrored = is_square(plan.geometry);
  return samples *
         (sizeof(float) * kept(samples, is_mirrored) +
          sizeof(std::complex<float>) * planes * kept(static_cast<double>(sizes.pixels), is_mirrored && !plan.surface));
}

std::vector<FieldPrior> candidate_priors(const ImagePlan& plan) {
  const double bytes = static_cast<double>(plan.frequencies_hz.size()) * model_bytes(plan);
  const auto fit = [&](std::size_t priors) { return static_cast<double>(priors) * bytes <= kMostPriorModelBytes; };
  const bool chooses = plan.holography.prior == FieldPrior::kAuto && plan.holography.search_every_frames > 0;
  if (!chooses || !fit(kPriors.size())) {
    return {model_prior(plan)};
  }
  std::vector<FieldPrior> priors(kPriors.begin(), kPriors.end());
  if (offers_bending_waves(plan) && fit(kPriors.size() + kBendingPriors.size())) {
    priors.insert(priors.end(), kBendingPriors.begin(), kBendingPriors.end());
  }
  return priors;
}

std::vector<PriorModels> make_candidate_models(const ImagePlan& plan) {
  std::vector<PriorModels> candidates;
  for (const FieldPrior prior : candidate_priors(plan)) {
    candidates.push_back({.prior = prior, .of_frequency = make_sonah_models(with_prior(plan, prior))});
  }
  return candidates;
}

}  // namespace nearfield
