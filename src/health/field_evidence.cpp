#include "health/field_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace nearfield::health {
namespace {

using Complex = std::complex<double>;
constexpr std::size_t kFieldSize = LocalField::kSize;
constexpr double kLeastLikelihood = std::numeric_limits<double>::min();

/// Variances of healthy microphones' gains along and across the phase of their signal: standard deviations of 0.5 dB
/// and 1.7 degrees, about those of values within the 1 dB and 3 degrees of data sheets.
constexpr double kLevelVariance = 3.31e-3;
constexpr double kPhaseVariance = 8.8e-4;
constexpr double kGainVariance = kLevelVariance + kPhaseVariance;
/// Shares of the power around a microphone, and of the array's mean power, tolerated as a prior's error: 3 % and 0.3 %
/// of the pressure.
constexpr double kLocalFloor = 1e-3;
constexpr double kArrayFloor = 1e-5;
/// A healthy microphone may have four times (6 dB) its neighbours' noise, which patterns after the first consist of.
constexpr double kUnlikeNoise = 4.0;
/// A deviation below this share of its prediction, or below so many times the least variance, is no evidence.
constexpr double kNear = 0.15;
constexpr double kLeastVariances = 3.0;

/// Number of microphones whose predictions choose the priors, and weight of their mean against the neighbours' own
/// evidence.
constexpr std::size_t kSample = 48;
constexpr double kSampleWeight = 50.0;
/// Most neighbours left out of the sample's predictions, as unknown bad ones: those whose misfit exceeds this multiple
/// of the set's mean.
constexpr int kTrimmed = 2;
constexpr double kStriking = 6.0;
/// Limit of a sample's misfit, in squared standard deviations.
constexpr double kMostMisfit = 16.0;
/// Number of priors used first; all are used only for a microphone that looks bad.
constexpr std::size_t kFirstChoices = 4;
constexpr double kMostBehind = 25.0;
constexpr double kSuspicious = 3.0;
/// Share of positions in a field where another prior holds than in most of the array, such as close to a source.
constexpr double kExceptional = 0.05;

/// Most unknown bad neighbours assumed beside a bad microphone.
constexpr int kMostCompanions = 1;
/// Number of priors for finding them, and for the judgement without them.
constexpr std::size_t kOrders = 3;
constexpr std::size_t kCompanionChoices = 6;
/// Log odds above which companions are not searched for.
constexpr double kClear = 15.0;
/// Fewest neighbours for a prediction.
constexpr std::size_t kFewestNeighbours = 10;

double student(double squares, double freedom) { return freedom * std::log1p(squares / freedom); }

}  // namespace

double Misfit::Part::squares(Complex deviation) const {
  const double power = std::norm(value);
  const Complex turned = power > 0.0 ? deviation * std::conj(value) / std::sqrt(power) : deviation;
  return turned.real() * turned.real() / (variance + 2.0 * kLevelVariance * power) +
         turned.imag() * turned.imag() / (variance + 2.0 * kPhaseVariance * power);
}

template <typename DeviationOf>
double Misfit::log_odds_by(const DeviationOf& deviation_of) const {
  double likelihood = 0.0;
  for (const Part& part : parts_) {
    likelihood += part.weight * std::exp(-student(part.squares(deviation_of(part)), part.freedom));
  }
  return parts_.empty() ? 0.0 : -std::log(std::max(likelihood, kLeastLikelihood));
}

double Misfit::log_odds(Complex value) const {
  return log_odds_by([&](const Part& part) { return value - part.value; });
}

double Misfit::log_odds_of_gain(Complex gain) const {
  return log_odds_by([&](const Part& part) { return (gain - 1.0) * part.value; });
}

Complex Misfit::value() const {
  Complex sum = 0.0;
  for (const Part& part : parts_) {
    sum += part.weight * part.value;
  }
  return sum;
}

double Misfit::certainty() const {
  double sum = 0.0;
  for (const Part& part : parts_) {
    sum += part.weight / (part.variance + kGainVariance * std::norm(part.value));
  }
  return sum;
}

std::size_t Misfit::heaviest() const {
  const auto heaviest =
      std::max_element(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.weight < b.weight; });
  return static_cast<std::size_t>(heaviest - parts_.begin());
}

FieldEvidence::FieldEvidence(const Neighbourhoods& neighbourhoods, LocalPriors& priors, std::vector<Complex> values,
                             bool is_noise)
    : neighbourhoods_(&neighbourhoods),
      priors_(&priors),
      values_(std::move(values)),
      filled_(values_),
      is_noise_(is_noise) {}

LocalField::Values FieldEvidence::values_around(std::size_t channel, std::span<const std::uint8_t> left_out) const {
  LocalField::Values values;
  const auto members = neighbourhoods_->members(channel);
  for (std::size_t m = 0; m < kFieldSize; ++m) {
    const auto other = static_cast<std::size_t>(members[m]);
    values[m] = m > 0 && left_out[other] != 0 ? 0.0 : values_[other];
  }
  return values;
}

double FieldEvidence::power_around(std::size_t channel, std::span<const std::uint8_t> left_out) const {
  double sum = 0.0;
  double count = 0.0;
  for (const int member : neighbourhoods_->members(channel).subspan<1>()) {
    const auto other = static_cast<std::size_t>(member);
    if (left_out[other] == 0) {
      sum += std::norm(values_[other]);
      count += 1.0;
    }
  }
  return sum / std::max(count, 1.0);
}

namespace {

/// The set's field without the excluded members.
LocalField known_field(const Precision& precision, const LocalField::Values& values,
                       std::span<const int, kFieldSize> members, std::span<const std::uint8_t> left_out) {
  LocalField field(precision, values);
  for (std::size_t m = 1; m < kFieldSize; ++m) {
    if (left_out[static_cast<std::size_t>(members[m])] != 0) {
      field.leave_out(m);
    }
  }
  return field;
}

bool has_enough(std::span<const int, kFieldSize> members, std::span<const std::uint8_t> left_out) {
  const auto usable = std::count_if(members.begin() + 1, members.end(),
                                    [&](int member) { return left_out[static_cast<std::size_t>(member)] == 0; });
  return static_cast<std::size_t>(usable) >= kFewestNeighbours;
}

}  // namespace

/// Log density of the predictive distribution, bounded against bad microphones.
double FieldEvidence::log_density(std::size_t prior, std::size_t channel,
                                  std::span<const std::uint8_t> left_out) const {
  const Precision& precision = priors_->precision(prior, neighbourhoods_->shape_of(channel));
  LocalField field =
      known_field(precision, values_around(channel, left_out), neighbourhoods_->members(channel), left_out);
  for (int i = 0; i < kTrimmed && field.neighbours() > kFewestNeighbours; ++i) {
    const std::size_t worst = field.worst();
    if (field.misfit(worst) < kStriking * field.scale()) {
      break;
    }
    field.leave_out(worst);
  }
  const LocalPrediction predicted = field.predict();
  const double squares = std::min(std::norm(values_[channel] - predicted.value) / predicted.variance, kMostMisfit);
  return -std::log(predicted.variance) - (predicted.freedom + 1.0) * std::log1p(squares / predicted.freedom);
}

void FieldEvidence::choose_priors(std::span<const std::uint8_t> left_out) {
  std::vector<std::size_t> usable;
  double power = 0.0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (left_out[i] == 0) {
      usable.push_back(i);
      power += std::norm(values_[i]);
    }
  }
  mean_power_ = power / static_cast<double>(std::max<std::size_t>(usable.size(), 1));
  const std::size_t count = std::min(usable.size(), kSample);
  choices_.clear();
  for (std::size_t prior = 0; prior < LocalPriors::kCount && power > 0.0; ++prior) {
    double sum = 0.0;
    std::size_t predicted = 0;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t channel = usable[s * usable.size() / count];
      if (has_enough(neighbourhoods_->members(channel), left_out)) {
        sum += log_density(prior, channel, left_out);
        ++predicted;
      }
    }
    if (predicted > 0) {
      choices_.push_back({.prior = prior, .log_weight = kSampleWeight * sum / static_cast<double>(predicted)});
    }
  }
  if (choices_.empty()) {
    return;
  }
  std::sort(choices_.begin(), choices_.end(),
            [](const Choice& a, const Choice& b) { return a.log_weight > b.log_weight; });
  const double best = choices_.front().log_weight;
  first_choices_ = 0;
  double sum = 0.0;
  for (const Choice& choice : choices_) {
    first_choices_ += first_choices_ < kFirstChoices && choice.log_weight > best - kMostBehind ? 1 : 0;
    sum += std::exp(choice.log_weight - best);
  }
  for (Choice& choice : choices_) {
    const double weight = std::exp(choice.log_weight - best) / sum;
    choice.log_weight = std::log((1.0 - kExceptional) * weight + kExceptional / LocalPriors::kCount);
  }
}

Misfit FieldEvidence::misfit_of(std::span<const LocalField> fields, double floor) const {
  std::vector<Misfit::Part> parts;
  std::vector<double> log_weights;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const LocalPrediction predicted = fields[i].predict();
    const double unlike = is_noise_ || choices_[i].prior == LocalPriors::kNoiseAlone ? kUnlikeNoise : 1.0;
    parts.push_back({.weight = 0.0,
                     .value = predicted.value,
                     .variance = unlike * predicted.variance + floor,
                     .freedom = predicted.freedom});
    log_weights.push_back(choices_[i].log_weight + predicted.log_evidence);
  }
  const double largest = *std::max_element(log_weights.begin(), log_weights.end());
  double sum = 0.0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].weight = std::exp(log_weights[i] - largest);
    sum += parts[i].weight;
  }
  for (Misfit::Part& part : parts) {
    part.weight /= sum;
  }
  return Misfit(std::move(parts));
}

FieldEvidence::Found FieldEvidence::judge(std::size_t channel, std::span<const std::uint8_t> left_out,
                                          double own_floor) const {
  if (choices_.empty() || !has_enough(neighbourhoods_->members(channel), left_out)) {
    return {};
  }
  Found found = judge_by(first_choices_, channel, left_out, own_floor);
  return found.log_odds < kSuspicious ? found : judge_by(choices_.size(), channel, left_out, own_floor);
}

FieldEvidence::Found FieldEvidence::judge_thoroughly(std::size_t channel, std::span<const std::uint8_t> left_out,
                                                     double own_floor) const {
  const bool can = !choices_.empty() && has_enough(neighbourhoods_->members(channel), left_out);
  return can ? judge_by(choices_.size(), channel, left_out, own_floor) : Found();
}

FieldEvidence::Found FieldEvidence::judge_by(std::size_t choices, std::size_t channel,
                                             std::span<const std::uint8_t> left_out, double own_floor) const {
  const auto members = neighbourhoods_->members(channel);
  const LocalField::Values values = values_around(channel, left_out);
  std::vector<LocalField> fields;
  fields.reserve(choices);
  for (const Choice& choice : std::span(choices_).first(choices)) {
    fields.push_back(
        known_field(priors_->precision(choice.prior, neighbourhoods_->shape_of(channel)), values, members, left_out));
  }
  const double floor =
      kLocalFloor * power_around(channel, left_out) + kArrayFloor * mean_power_ + own_floor + kLeastLikelihood;
  Found found{.log_odds = 0.0, .misfit = misfit_of(fields, floor)};
  const Complex value = values_[channel];
  found.log_odds = found.misfit.log_odds(value);
  const double off = std::norm(value - found.misfit.value());
  if (is_noise_ || found.log_odds > kClear || off <= kNear * kNear * std::norm(found.misfit.value()) + floor) {
    return found;
  }
  fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(std::min(fields.size(), kCompanionChoices)), fields.end());
  for (std::size_t order = 0; order < std::min(fields.size(), kOrders) && found.log_odds <= kClear; ++order) {
    Found clearer = without_companions(fields, order, value, floor);
    if (clearer.log_odds > found.log_odds) {
      found = std::move(clearer);
    }
  }
  return found;
}

/// Unknown bad neighbours widen the prediction. Without some of them, the worst ones according to one of the priors,
/// the odds may be clear; they count only as far as leaving them out, together with the microphone itself, explains the
/// set better.
FieldEvidence::Found FieldEvidence::without_companions(std::vector<LocalField> fields, std::size_t order, Complex value,
                                                       double floor) const {
  std::vector<double> whole;
  std::transform(fields.begin(), fields.end(), std::back_inserter(whole),
                 [](const LocalField& field) { return field.scale(); });
  Found found;
  for (int companions = 1; companions <= kMostCompanions && fields[order].neighbours() > kFewestNeighbours;
       ++companions) {
    const std::size_t worst = fields[order].worst();
    for (LocalField& field : fields) {
      field.leave_out(worst);
    }
    Misfit misfit = misfit_of(fields, floor);
    const std::size_t best = misfit.heaviest();
    const LocalPrediction rest = fields[best].predict();
    const double joint = rest.freedom * std::log(std::max(whole[best] / rest.scale, 1.0));
    const double odds = std::min(misfit.log_odds(value), joint / (companions + 1));
    if (odds > found.log_odds) {
      found = {.log_odds = odds, .misfit = std::move(misfit)};
    }
  }
  return found;
}

/// Microphones that are left out are replaced by their predictions.
bool FieldEvidence::is_near(std::size_t channel, std::span<const std::uint8_t> left_out, double own_floor) const {
  if (choices_.empty()) {
    return true;
  }
  const double power = power_around(channel, left_out);
  const auto members = neighbourhoods_->members(channel);
  const Precision& precision = priors_->precision(choices_.front().prior, neighbourhoods_->shape_of(channel));
  Complex sum = 0.0;
  for (std::size_t m = 1; m < kFieldSize && !precision.is_identity; ++m) {
    sum -= precision.matrix[m] * filled_[static_cast<std::size_t>(members[m])];
  }
  const Complex predicted = sum / precision.matrix[0];
  const double noise = precision.is_identity && first_choices_ == 1 ? kUnlikeNoise * power : 0.0;
  const double expected = kLeastVariances * (kGainVariance * std::norm(predicted) + kLocalFloor * power +
                                             kArrayFloor * mean_power_ + own_floor + noise);
  return std::norm(values_[channel] - predicted) <= std::max(kNear * kNear * std::norm(predicted), expected);
}

}  // namespace nearfield::health
