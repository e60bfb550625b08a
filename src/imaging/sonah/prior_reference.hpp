#pragma once
#include <Eigen/Dense>
#include <complex>
#include <vector>

#include "imaging/shared/imager_reference.hpp"
#include "imaging/shared/search.hpp"

/// Sonah's priors in plain double precision, from the formulas of docs/how/sonah.md, and the likelihood of a field
/// under one.
namespace nearfield::reference {

/// A wave of the prior: kz, kr, its power on the surface times the quadrature's weight.
struct Wave {
  Complex kz;
  double kr;
  double power;
};

/// Power density over K-space on the surface for a wave with this kz, under the plan's prior; auto is the layer.
double prior_density(Complex kz, double k, const ImagePlan& plan);

/// Simpson's rule over the angle inside the radiation circle, over the decay outside.
std::vector<Wave> prior_waves(double k, const ImagePlan& plan);

/// The mean of cos(kr x) over all directions, by the trapezoidal rule, which is exact to rounding here.
double mean_over_directions(double kr, double distance_m);

/// Covariance of the pressures at the microphones, each of power 1. (microphone, microphone)
Eigen::MatrixXd microphone_covariance(const ImagePlan& plan, std::size_t frequency);

/// For each step of noise: minus the logarithm of its likelihood, without a constant, and the prior's power.
struct Evidence {
  std::vector<double> costs;
  std::vector<double> priors;
};
/// powers, y: per mode.
Evidence weigh_noises(const Eigen::VectorXd& powers, const Eigen::VectorXcd& y);
inline constexpr int kReferenceNoiseSteps = 48;
/// Microphone noise over the prior's power.
double noise_of(int step);

/// Schwarz's criterion of a field [row][column] under the plan's prior beside given sources, as in
/// WaveFinder::criterion(): least cost over the noise of the fit's residual, and half the logarithm of the field's real
/// values for each of their real parameters.
double prior_criterion(const ImagePlan& plan, std::size_t frequency, const Eigen::VectorXcd& field,
                       const FoundWaves& sources);

}  // namespace nearfield::reference
