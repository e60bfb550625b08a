#pragma once
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "health/local_field.hpp"

namespace nearfield::health {

/// How far one microphone is from what its neighbours predict, in one pattern of one frequency: a mixture over priors,
/// each with the weight that the data give it.
class Misfit {
 public:
  struct Part {
    double weight = 0.0;
    std::complex<double> value;
    double variance = 0.0;  ///< of the prediction and the noise, without that of healthy gains
    double freedom = 0.0;
    /// Squared deviation from `value`, in variances of healthy microphones.
    [[nodiscard]] double squares(std::complex<double> deviation) const;
  };
  Misfit() = default;
  explicit Misfit(std::vector<Part> parts) : parts_(std::move(parts)) {}

  /// Negative logarithm of the probability that a healthy microphone's value is as far off as `value`: 0 where it is
  /// as predicted, and where nothing is predicted.
  [[nodiscard]] double log_odds(std::complex<double> value) const;
  /// The same of a microphone with that gain that is predicted exactly: what a fault would show.
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

/// What the microphones show of a field in one pattern (window_patterns.hpp) of one frequency.
class FieldEvidence {
 public:
  /// All must outlive this. `values` [channel], 0 where they are not finite. `is_noise`: noise is to be expected, which
  /// may differ from microphone to microphone.
  FieldEvidence(const Neighbourhoods& neighbourhoods, LocalPriors& priors, std::vector<std::complex<double>> values,
                bool is_noise);

  /// Chooses the priors that explain the array best, from a sample of its microphones.
  void choose_priors(std::span<const std::uint8_t> left_out);

  struct Found {
    double log_odds = 0.0;  ///< that the microphone is no healthy one
    Misfit misfit;
  };
  /// left_out [channel]: 1, nothing is predicted from it. own_floor: power of deviations to be expected in any case.
  [[nodiscard]] Found judge(std::size_t channel, std::span<const std::uint8_t> left_out, double own_floor) const;
  /// The same with all priors, whatever is found with the first ones.
  [[nodiscard]] Found judge_thoroughly(std::size_t channel, std::span<const std::uint8_t> left_out,
                                       double own_floor) const;
  /// True if the microphone is so near to its prediction that judge() would find nothing. Quick.
  [[nodiscard]] bool is_near(std::size_t channel, std::span<const std::uint8_t> left_out, double own_floor) const;

  [[nodiscard]] std::complex<double> value(std::size_t channel) const { return values_[channel]; }
  /// For is_near(): what a microphone that is left out should have.
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
  std::vector<std::complex<double>> filled_;  ///< values_, those left out as predicted
  bool is_noise_;
  double mean_power_ = 0.0;
  std::vector<Choice> choices_;    ///< the best first
  std::size_t first_choices_ = 0;  ///< how many of them come into question for most of the array
};

}  // namespace nearfield::health
