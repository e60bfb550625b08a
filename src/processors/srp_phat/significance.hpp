#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "processors/srp_phat/plan.hpp"

namespace nearfield {

/// Probability that noise alone, with independent phases at each microphone, has a maximum of p somewhere in the grid.
///
/// p M of such noise is a sum of squares of correlated normal numbers, since the window correlates neighbouring bins.
/// Its cumulants are traces of powers of their correlation matrix; a chi-squared variable with the same mean, variance
/// and skewness has its tail (P. Hall, Ann. Probab. 11 (1983); M. J. Buckley, G. K. Eagleson, Austral. J. Statist. 30
/// (1988)). The maximum over the grid is that of a smooth chi-squared field, whose expected Euler characteristic above
/// a threshold is known (Worsley, Adv. Appl. Prob. 26 (1994), 13-42, theorem 3.5 and its corollaries); for rare maxima
/// that is their probability.
class SrpSignificance {
 public:
  explicit SrpSignificance(const SrpPlan& plan);
  /// 1 over the variance of p M: the equivalent number of independent bins. `bin_powers` [bin] mark the bins with
  /// sound; with weights: none also their strength.
  [[nodiscard]] double effective_bins(std::span<const double> bin_powers) const;
  /// -lg of the probability that noise alone has a maximum above `p` in one frame.
  [[nodiscard]] double operator()(double p, double microphones, std::span<const double> bin_powers) const;

 private:
  struct Pair {
    std::size_t one = 0;
    std::size_t other = 0;
    double correlation = 0.0;
  };
  struct Triple {
    std::array<std::size_t, 3> bins;
    double product = 0.0;  ///< product of their three correlations
  };
  /// Moments of p M for noise; its mean is 1.
  struct Moments {
    double sum = 0.0;       ///< sum of the weights
    double variance = 0.0;  ///< 0: no bin has sound
    double skewness = 0.0;
  };
  [[nodiscard]] Moments moments_of(std::span<const double> bin_powers) const;
  [[nodiscard]] double weight(double bin_power) const;
  void correlate(const SrpPlan& plan);
  void measure(const SrpPlan& plan);
  void measure_plane(const SrpPlan& plan, std::size_t first, std::size_t stride);
  SrpWeights weights_;
  std::vector<double> squared_waves_;  ///< [bin], (2 pi f/c)^2
  std::vector<Pair> pairs_;            ///< pairs of bins that the window correlates
  std::vector<Triple> triples_;        ///< triples in which it correlates all pairs
  /// For the grid, where phases are paths in m: number of parts, and expected length and area in units of the field's
  /// gradient.
  double parts_ = 0.0;
  double length_ = 0.0;
  double area_ = 0.0;
};

/// ln of the probability that Gamma(shape, 1) exceeds x.
double log_gamma_tail(double shape, double x);

}  // namespace nearfield
