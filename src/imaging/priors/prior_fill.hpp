#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "imaging/priors/make_mask.hpp"
#include "imaging/shared/array_plan.hpp"

namespace nearfield {

/// Microphone noise over the prior's power for the prediction of masked microphones: 40 dB.
inline constexpr double kFillNoise = 1e-4;
/// Size limit of the cache between masks, for the arrays masked last: 60 frequencies of 32 x 32 microphones.
inline constexpr std::size_t kKeptInverseBytes = std::size_t{128} << 20U;

/// A microphone among those of half the rows and columns, with its signed multiplicity in the sums of a parity class.
struct FoldedPlace {
  Eigen::Index sample = 0;
  double weight = 0.0;
};
FoldedPlace folded_place(const ArrayGeometry& geometry, Eigen::Index channel, std::size_t parity);

/// Prediction of masked microphones from all others by sonah's prior, C_mu (C_uu + n)^{-1}: it makes the image of the
/// whole array that of the unmasked microphones, where n is the noise of the image (docs/how/sonah.md). For a grid of
/// microphones; uses all processors. [frequency][masked][row][column], 0 for masked ones
std::vector<float> prior_fill(const ArrayPlan& plan, const std::vector<std::int32_t>& masked);

/// Frees what prior_fill() has cached for this array. make_mask() does so if none is masked.
void forget_prior_fills(const ArrayPlan& plan);

/// Prediction at one frequency. (masked, microphone)
Eigen::MatrixXd prior_fill_matrix(const ArrayPlan& plan, std::size_t frequency,
                                  const std::vector<std::int32_t>& masked);

}  // namespace nearfield
