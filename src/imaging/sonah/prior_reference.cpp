#include "imaging/sonah/prior_reference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "imaging/sources/source_reference.hpp"

namespace nearfield::reference {
namespace {

double layers_depth_m(const ImagePlan& plan) {
  return plan.holography.prior == FieldPrior::kDeepLayer ? 2.0 * plan.standoff_m : plan.standoff_m;
}

/// (microphone, source)
Eigen::MatrixXcd sources_over(const FoundWaves& sources, double k, const ImagePlan& plan) {
  const auto waves = static_cast<Eigen::Index>(sources.waves.size());
  const auto points = static_cast<Eigen::Index>(sources.points.size());
  Eigen::MatrixXcd fields(plan.geometry.channels(), waves + points);
  for (Eigen::Index i = 0; i < waves; ++i) {
    fields.col(i) = wave_over(sources.waves[static_cast<std::size_t>(i)], plan, 1);
  }
  for (Eigen::Index i = 0; i < points; ++i) {
    fields.col(waves + i) = point_over(sources.points[static_cast<std::size_t>(i)], k, plan);
  }
  return fields;
}

}  // namespace

double noise_of(int step) { return 1e-7 * std::pow(1.5, step); }

double prior_density(Complex kz, double k, const ImagePlan& plan) {
  const ArrayGeometry& g = plan.geometry;
  const double side_m = std::sqrt(g.rows * g.pitch_y_m * g.columns * g.pitch_x_m);
  const double rounding = 0.3 * k + 2.0 * std::numbers::pi / side_m;
  const double decay = -kz.imag();
  if (plan.holography.prior == FieldPrior::kPatches) {
    return std::exp(-std::pow(0.85 * plan.standoff_m * decay, 2));
  }
  const double kr = std::abs(std::sqrt(k * k - kz * kz));
  if (plan.holography.prior == FieldPrior::kBendingWaves) {
    return std::exp(-0.5 * std::pow((kr * plan.standoff_m - 1.7) / 0.5, 2));
  }
  if (plan.holography.prior == FieldPrior::kShortBendingWaves) {
    return std::exp(-0.5 * std::pow((kr * plan.standoff_m - 2.0) / 0.4, 2));
  }
  return std::exp(-2.0 * decay * layers_depth_m(plan)) / (std::norm(kz) + rounding * rounding);
}

std::vector<Wave> prior_waves(double k, const ImagePlan& plan) {
  constexpr int kIntervals = 800;
  const double deepest = 20.0 / (plan.standoff_m + layers_depth_m(plan));
  std::vector<Wave> waves;
  for (int i = 0; i <= kIntervals; ++i) {
    const double simpson = (i == 0 || i == kIntervals ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) / (3.0 * kIntervals);
    const double angle = std::numbers::pi / 2.0 * i / kIntervals;
    const double kz = k * std::cos(angle);
    const double kr = k * std::sin(angle);
    waves.push_back({kz, kr, prior_density(kz, k, plan) * kr * kz * simpson * std::numbers::pi / 2.0});
    const double decay = deepest * i / kIntervals;
    waves.push_back({Complex(0.0, -decay), std::hypot(k, decay),
                     prior_density(Complex(0.0, -decay), k, plan) * decay * simpson * deepest});
  }
  return waves;
}

double mean_over_directions(double kr, double distance_m) {
  const int count = 24 + static_cast<int>(kr * distance_m);
  double sum = 0.0;
  for (int i = 0; i < count; ++i) {
    sum += std::cos(kr * distance_m * std::cos(std::numbers::pi * (i + 0.5) / count));
  }
  return sum / count;
}

Eigen::MatrixXd microphone_covariance(const ImagePlan& plan, std::size_t frequency) {
  const std::vector<Wave> waves = prior_waves(plan.wavenumber(frequency), plan);
  std::map<std::pair<int, int>, double> of_lag;
  const auto covariance_of = [&](int rows, int columns) {
    const auto [found, is_new] = of_lag.try_emplace({std::abs(rows), std::abs(columns)}, 0.0);
    for (std::size_t i = 0; is_new && i < waves.size(); ++i) {
      const double to_array = std::exp(2.0 * waves[i].kz.imag() * plan.standoff_m);
      found->second += waves[i].power * to_array *
                       mean_over_directions(
                           waves[i].kr, std::hypot(rows * plan.geometry.pitch_y_m, columns * plan.geometry.pitch_x_m));
    }
    return found->second;
  };
  const int columns = plan.geometry.columns;
  Eigen::MatrixXd covariance(plan.geometry.channels(), plan.geometry.channels());
  for (int m = 0; m < plan.geometry.channels(); ++m) {
    for (int n = 0; n < plan.geometry.channels(); ++n) {
      covariance(m, n) = covariance_of(m / columns - n / columns, m % columns - n % columns) / covariance_of(0, 0);
    }
  }
  return covariance;
}

Evidence weigh_noises(const Eigen::VectorXd& powers, const Eigen::VectorXcd& y) {
  Evidence found;
  for (int step = 0; step < kReferenceNoiseSteps; ++step) {
    const Eigen::ArrayXd variances = powers.array() + noise_of(step);
    found.priors.push_back((y.cwiseAbs2().array() / variances).mean());
    found.costs.push_back(variances.log().sum() +
                          static_cast<double>(y.size()) * std::log(std::max(found.priors.back(), 1e-40)));
  }
  return found;
}

double prior_criterion(const ImagePlan& plan, std::size_t frequency, const Eigen::VectorXcd& field,
                       const FoundWaves& sources) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(microphone_covariance(plan, frequency));
  const Eigen::VectorXd powers = solver.eigenvalues().cwiseMax(0.0);
  const Eigen::MatrixXcd modes = solver.eigenvectors().cast<Complex>();
  Eigen::VectorXcd y = modes.transpose() * field;
  if (sources.has_sources()) {
    const Eigen::MatrixXcd of_sources = modes.transpose() * sources_over(sources, plan.wavenumber(frequency), plan);
    const Eigen::VectorXcd weights = (powers.array() + sources.noise).inverse().matrix().cast<Complex>();
    const Eigen::MatrixXcd white = weights.asDiagonal() * of_sources;
    y -= of_sources * (of_sources.adjoint() * white).ldlt().solve(white.adjoint() * y);
  }
  const std::vector<double> costs = weigh_noises(powers, y).costs;
  const double parameters = 4.0 * static_cast<double>(sources.waves.size()) +  // amplitude, kx, ky
                            5.0 * static_cast<double>(sources.points.size());  // amplitude, x, y, z
  return *std::min_element(costs.begin(), costs.end()) +
         0.5 * parameters * std::log(2.0 * static_cast<double>(field.size()));
}

}  // namespace nearfield::reference
