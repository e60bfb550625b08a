#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "health/local_field.hpp"

namespace nearfield::health {

/// Distance of one microphone from its neighbours' prediction, in one pattern of one frequency: a mixture over priors,
/// weighted by the data.
class Misfit {
 public:
  struct Part {
    double weight = 0.0;
    std::complex<double> value;
    double variance = 0.0;  ///< variance of prediction and noise, without healthy gain deviations
    double freedom = 0.0;
    /// Squared deviation from `value`, in units of the variance of healthy microphones.
    [[nodiscard]] double squares(std::complex<double> deviation) const;
  };
  Misfit() = default;
  explicit Misfit(std::vector<Part> parts) : parts_(std::move(parts)) {}

  /// Negative logarithm of the probability that a healthy microphone's value deviates as far as `value`: 0 if it is as
  /// predicted, and if nothing is predicted.
  [[nodiscard]] double log_odds(std::complex<double> value) const;
  /// Log odds of an exactly predicted microphone with that gain: how detectable a fault is.
  [[nodiscard]] double log_odds_of_gain(std::complex<double> gain) const;
  /// Mean prediction, and the mixture's mean of 1 / variance.
  [[nodiscard]] std::complex<double> value() const;
  [[nodiscard]] double certainty() const;
  /// Index of the part with the largest weight.
  [[nodiscard]] std::size_t heaviest() const;

 private:
  template <typename DeviationOf>
  [[nodiscard]] double log_odds_by(const DeviationOf& deviation_of) const;

  std::vector<Part> parts_;
};

/// Evidence of the microphones for a field in one pattern (window_patterns.hpp) of one frequency.
class FieldEvidence {
 public:
  /// The arguments must outlive this. `values` [channel], 0 if not finite. `is_noise`: noise is expected, which may
  /// differ from microphone to microphone.
  FieldEvidence(const Neighbourhoods& neighbourhoods, LocalPriors& priors, std::vector<std::complex<double>> values,
                bool is_noise);

  /// Chooses the priors that explain the array best, from a sample of its microphones.
  void choose_priors(std::span<const std::uint8_t> left_out);

  struct Found {
    double log_odds = 0.0;  ///< evidence that the microphone is not healthy
    Misfit misfit;
  };
  /// left_out [channel]: 1, excluded from predictions. own_floor: power of deviations to be expected in any case.
  [[nodiscard]] Found judge(std::size_t channel, std::span<const std::uint8_t> left_out, double own_floor) const;
  /// Like judge(), but always with all priors, not only the first ones.
  [[nodiscard]] Found judge_thoroughly(std::size_t channel, std::span<const std::uint8_t> left_out,
                                       double own_floor) const;
  /// Quick test: true if the microphone is so near to its prediction that judge() would find nothing.
  [[nodiscard]] bool is_near(std::size_t channel, std::span<const std::uint8_t> left_out, double own_floor) const;

  [[nodiscard]] std::complex<double> value(std::size_t channel) const { return values_[channel]; }
  /// For is_near(): the expected value of a microphone that is left out.
  void fill(std::size_t channel, std::complex<double> value) { filled_[channel] = value; }
  /// Mean power of the neighbours that are not left out.
  [[nodiscard]] double power_around(std::size_t channel, std::span<const std::uint8_t> left_out) const;

 private:
  struct Choice {
    std::size_t prior = 0;
    double log_weight = 0.0;
  };
  [[nodiscard]] Found judge_by(std::size_t choices, std::size_t channel, std::span<const std::uint8_t> left_out,
                               double own_floor) const;
  [[nodiscard]] Found without_companions(std::vector<LocalField> fields, std::size_t order, std::complex<double> value,
                                         double floor) const;
  [[nodiscard]] LocalField::Values values_around(std::size_t channel, std::span<const std::uint8_t> left_out) const;
  [[nodiscard]] double log_density(std::size_t prior, std::size_t channel,
                                   std::span<const std::uint8_t> left_out) const;
  [[nodiscard]] Misfit misfit_of(std::span<const LocalField> fields, double floor) const;

  const Neighbourhoods* neighbourhoods_;
  LocalPriors* priors_;
  std::vector<std::complex<double>> values_;
  std::vector<std::complex<double>> filled_;  ///< values_, with predictions for those left out
  bool is_noise_;
  double mean_power_ = 0.0;
  std::vector<Choice> choices_;    ///< best first
  std::size_t first_choices_ = 0;  ///< number of choices that matter for most of the array
};

}  // namespace nearfield::health
