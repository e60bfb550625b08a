#include "imaging/sonah/prior_finder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace nearfield {

PriorFinder::PriorFinder(const ImagePlan& plan, std::size_t frequency, const std::vector<PriorModels>& candidates,
                         MakeSonahArrays make_arrays)
    : frequency_(frequency), make_arrays_(std::move(make_arrays)) {
  for (const PriorModels& candidate : candidates) {
    priors_.push_back(candidate.prior);
    finders_.emplace_back(with_prior(plan, candidate.prior), frequency, candidate.of_frequency.at(frequency));
  }
}

FoundWaves PriorFinder::find(std::span<const std::complex<double>> field, std::uint64_t number,
                             const MicrophoneMask& mask) {
  const bool chooses = number % kSearchHalf == 0;
  const SearchMemory<Chosen>::Pair before = before_.at(number);
  before.settling->sources.resize(finders_.size());
  before.serving->sources.resize(finders_.size());
  const bool differ = *before.settling != *before.serving;
  if (differ) {
    (void)find_from(*before.settling, chooses, field, mask);
  }
  FoundWaves found = find_from(*before.serving, chooses, field, mask);
  if (!differ) {
    *before.settling = *before.serving;
  }
  add_arrays(found, before.serving->candidate.value_or(0));
  return found;
}

void PriorFinder::add_arrays(FoundWaves& found, std::size_t candidate) {
  if (candidate != arrays_candidate_ && make_arrays_) {
    arrays_ = make_arrays_(candidate, frequency_);
    arrays_candidate_ = candidate;
  }
  found.arrays = arrays_;
}

FoundWaves PriorFinder::find_beside(std::size_t candidate, Chosen& chosen, std::span<const std::complex<double>> field,
                                    const MicrophoneMask& mask) {
  FoundWaves found = finders_[candidate].find_from(chosen.sources[candidate], field, &mask);
  chosen.sources[candidate] = finders_[candidate].sources();
  found.prior = priors_[candidate];
  return found;
}

double PriorFinder::criterion_of(std::size_t candidate, const FoundWaves& found) const {
  const bool explains_rest = is_bending(priors_[candidate]) && !found.points.empty();
  return explains_rest ? std::numeric_limits<double>::infinity() : finders_[candidate].criterion();
}

FoundWaves PriorFinder::find_from(Chosen& chosen, bool chooses, std::span<const std::complex<double>> field,
                                  const MicrophoneMask& mask) {
  const std::size_t in_force = chosen.candidate.value_or(0);
  // Silence is equally probable under all priors.
  const bool is_silent = std::all_of(field.begin(), field.end(), [](const auto& value) { return value == 0.0; });
  FoundWaves best = find_beside(in_force, chosen, field, mask);
  const bool stays = chosen.candidate && !chooses && std::isfinite(criterion_of(in_force, best));
  if (is_silent || finders_.size() == 1 || stays) {
    return best;
  }
  double least = criterion_of(in_force, best) - kPriorPreference;
  chosen.candidate = in_force;
  for (std::size_t candidate = 0; candidate < finders_.size(); ++candidate) {
    if (candidate == in_force) {
      continue;
    }
    FoundWaves found = find_beside(candidate, chosen, field, mask);
    const double criterion = criterion_of(candidate, found);
    if (criterion < least) {
      least = criterion;
      best = std::move(found);
      chosen.candidate = candidate;
    }
  }
  return best;
}

namespace {

std::vector<std::unique_ptr<FrequencyFinder>> finders_of(const ImagePlan& plan,
                                                         const std::vector<PriorModels>& candidates,
                                                         const MakeSonahArrays& make_arrays) {
  std::vector<std::unique_ptr<FrequencyFinder>> finders;
  ImagePlan without_gains = plan;  // gains are applied by SourceSearch; each finder has copies of its plan
  without_gains.gains.clear();
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    finders.push_back(std::make_unique<PriorFinder>(without_gains, f, candidates, make_arrays));
  }
  return finders;
}

}  // namespace

WaveSearch::WaveSearch(const ImagePlan& plan, const std::shared_ptr<const std::vector<PriorModels>>& candidates,
                       const MakeSonahArrays& make_arrays)
    : SourceSearch(plan, finders_of(plan, *candidates, make_arrays), candidates) {}

WaveSearch::WaveSearch(const ImagePlan& plan, std::vector<SonahModel> models)
    : WaveSearch(plan, std::make_shared<const std::vector<PriorModels>>(
                           std::vector<PriorModels>{{.prior = model_prior(plan), .of_frequency = std::move(models)}})) {
}

}  // namespace nearfield
