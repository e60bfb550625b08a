#pragma once
#include <Eigen/Dense>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "imaging/array_plan.hpp"

namespace nearfield {

/// Noise of each microphone over the prior's power that masked microphones are predicted with: 40 dB.
inline constexpr double kFillNoise = 1e-4;
/// Most that is kept from mask to mask, of the arrays that were masked last: 60 frequencies of 32 x 32 microphones.
inline constexpr std::size_t kKeptInverseBytes = std::size_t{128} << 20U;

/// A microphone among those of half the rows and columns, and how many times and with which sign it is in the sums of a
/// parity class.
struct FoldedPlace {
  Eigen::Index sample = 0;
  double weight = 0.0;
};
FoldedPlace folded_place(const ArrayGeometry& geometry, Eigen::Index channel, std::size_t parity);

/// The prediction of masked microphones from all others by sonah's prior, C_mu (C_uu + n)^{-1}: with it the image of
/// the whole array is that of the microphones that are not masked, where n is the noise of the image (docs/sonah.md).
/// Of a grid of microphones; on all processors. [frequency][masked][row][column], 0 for masked ones
std::vector<float> prior_fill(const ArrayPlan& plan, const std::vector<std::int32_t>& masked);

/// Gives back what prior_fill() has kept of this array for its next mask. make_mask() does so where none is masked.
void forget_prior_fills(const ArrayPlan& plan);

/// Of one frequency. (masked, microphone)
Eigen::MatrixXd prior_fill_matrix(const ArrayPlan& plan, std::size_t frequency,
                                  const std::vector<std::int32_t>& masked);

}  // namespace nearfield
