#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/frame.hpp"
#include "imaging/shared/array_plan.hpp"
#include "imaging/shared/imager_reference.hpp"

namespace nearfield::reference {
namespace {

constexpr int kMinimumNeighbours = 3;
/// Noise power of each microphone over the field's.
constexpr double kNoise = 1e-4;
/// Pa; above it the device's squares overflow, so a value counts as not finite.
constexpr double kLargest_pa = 1e18;

bool is_finite(Complex value) { return std::abs(value.real()) < kLargest_pa && std::abs(value.imag()) < kLargest_pa; }

std::vector<bool> masked_microphones(const ImagePlan& plan) {
  std::vector<bool> masked(static_cast<std::size_t>(plan.geometry.channels()), false);
  for (const int channel : plan.dead_channels) {
    masked[static_cast<std::size_t>(channel)] = true;
  }
  return masked;
}

std::vector<bool> usable_microphones(std::span<const Complex> spectra, const ImagePlan& plan, ConditionedSpectra& out) {
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  std::vector<bool> usable(channels, true);
  for (const int channel : plan.dead_channels) {
    usable[static_cast<std::size_t>(channel)] = false;
    out.flags |= kFlagMaskedMicrophones;
  }
  for (std::size_t channel = 0; channel < channels; ++channel) {
    bool finite = true;
    for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
      finite = finite && is_finite(spectra[f * channels + channel]);
    }
    if (usable[channel] && !finite) {
      usable[channel] = false;
      out.flags |= kFlagNonFiniteInput;
      ++out.non_finite_channels;
    }
  }
  return usable;
}

/// Squared distance in space, m^2.
double squared_distance(const ArrayGeometry& geometry, int one, int other) {
  const MicrophonePosition a = geometry.position_m(one);
  const MicrophonePosition b = geometry.position_m(other);
  return std::pow(a.x_m - b.x_m, 2) + std::pow(a.y_m - b.y_m, 2) + std::pow(a.z_m - b.z_m, 2);
}

Complex interpolate(const Field& field, const std::vector<bool>& usable, int row, int column, const ImagePlan& plan) {
  for (int radius = 1;; ++radius) {
    int found = 0;
    Complex sum = 0.0;
    double weights = 0.0;
    for (int y = std::max(row - radius, 0); y <= std::min(row + radius, field.rows - 1); ++y) {
      for (int x = std::max(column - radius, 0); x <= std::min(column + radius, field.columns - 1); ++x) {
        if (usable[static_cast<std::size_t>(y * field.columns + x)]) {
          const double weight = 1.0 / (std::pow((x - column) * plan.geometry.pitch_x_m, 2) +
                                       std::pow((y - row) * plan.geometry.pitch_y_m, 2));
          sum += weight * field.at(y, x);
          weights += weight;
          ++found;
        }
      }
    }
    if (found >= kMinimumNeighbours || radius >= std::max(field.rows, field.columns)) {
      return found > 0 ? sum / weights : 0.0;
    }
  }
}

/// Mean of the nearest usable microphones, weighted with 1/distance^2, for arrays on no regular grid.
Complex interpolate_in_space(const Field& field, const std::vector<bool>& usable, int channel, const ImagePlan& plan) {
  std::vector<std::pair<double, std::size_t>> others;
  for (std::size_t other = 0; other < usable.size(); ++other) {
    if (usable[other]) {
      others.emplace_back(squared_distance(plan.geometry, channel, static_cast<int>(other)), other);
    }
  }
  std::sort(others.begin(), others.end());
  others.resize(std::min(others.size(), std::size_t{kMinimumNeighbours}));
  Complex sum = 0.0;
  double weights = 0.0;
  for (const auto& [distance2, other] : others) {
    sum += field.values[other] / distance2;
    weights += 1.0 / distance2;
  }
  return others.empty() ? 0.0 : sum / weights;
}

/// Covariance of the pressures at two points r apart, unscaled: a field of power 1 inside the radiation circle and
/// e^{-2 sqrt(kr^2 - k^2) z} outside, by the midpoint rule.
double covariance(double r_m, double k, double z_m) {
  constexpr int kSteps = 4000;
  double sum = 0.0;
  for (int i = 0; i < kSteps; ++i) {
    const double inner = k * (i + 0.5) / kSteps;
    sum += ::j0(inner * r_m) * inner * k / kSteps;
    const double last = 14.0 / (2.0 * z_m);
    const double u = last * (i + 0.5) / kSteps;
    sum += ::j0(std::hypot(u, k) * r_m) * std::exp(-2.0 * u * z_m) * u * last / kSteps;
  }
  return sum;
}

class Covariances {
 public:
  Covariances(const ImagePlan& plan, double k) : plan_(&plan), k_(k) {}
  double operator()(int a, int b) {
    if (!plan_->geometry.is_grid()) {
      return covariance(std::sqrt(squared_distance(plan_->geometry, a, b)), k_, plan_->standoff_m);
    }
    const int columns = plan_->geometry.columns;
    const std::pair apart{std::abs(a / columns - b / columns), std::abs(a % columns - b % columns)};
    if (!known_.contains(apart)) {
      const double r_m = std::hypot(apart.first * plan_->geometry.pitch_y_m, apart.second * plan_->geometry.pitch_x_m);
      known_[apart] = covariance(r_m, k_, plan_->standoff_m);
    }
    return known_[apart];
  }

 private:
  const ImagePlan* plan_;
  double k_;
  std::map<std::pair<int, int>, double> known_;
};

/// Microphones from which a masked one is predicted: the nearest unmasked ones, the lower index first.
std::vector<int> neighbours_of(int channel, const std::vector<bool>& masked, const ImagePlan& plan) {
  const int columns = plan.geometry.columns;
  const auto distance2 = [&](int other) {
    if (!plan.geometry.is_grid()) {
      return squared_distance(plan.geometry, channel, other);
    }
    const int rows_apart = other / columns - channel / columns;
    return std::pow(rows_apart * plan.geometry.pitch_y_m, 2) +
           std::pow((other % columns - channel % columns) * plan.geometry.pitch_x_m, 2);
  };
  std::vector<int> others;
  for (int other = 0; other < plan.geometry.channels(); ++other) {
    if (!masked[static_cast<std::size_t>(other)]) {
      others.push_back(other);
    }
  }
  // A small tolerance, so that equal distances stay equal despite rounding.
  std::stable_sort(others.begin(), others.end(),
                   [&](int a, int b) { return distance2(a) < distance2(b) * (1.0 - 1e-9); });
  others.resize(std::min(others.size(), kFillNeighbours));
  return others;
}

Complex predict(const Field& field, int channel, const std::vector<int>& from, Covariances& covariances) {
  const auto n = static_cast<Eigen::Index>(from.size());
  Eigen::MatrixXd between(n, n);
  Eigen::VectorXd towards(n);
  Eigen::VectorXcd values(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const int a = from[static_cast<std::size_t>(i)];
    for (Eigen::Index j = 0; j < n; ++j) {
      const int b = from[static_cast<std::size_t>(j)];
      between(i, j) = covariances(a, b) + (a == b ? kNoise * covariances(0, 0) : 0.0);
    }
    towards(i) = covariances(a, channel);
    values(i) = field.values[static_cast<std::size_t>(a)];
  }
  const Eigen::VectorXd weights = between.partialPivLu().solve(towards);
  return weights.cast<Complex>().cwiseProduct(values).sum();
}

}  // namespace

ConditionedSpectra condition_microphones(std::span<const Complex> spectra, const ImagePlan& plan) {
  ConditionedSpectra out;
  const std::vector<bool> masked = masked_microphones(plan);
  const std::vector<bool> usable = usable_microphones(spectra, plan, out);
  const auto channels = static_cast<std::size_t>(plan.geometry.channels());
  for (std::size_t f = 0; f < plan.frequencies_hz.size(); ++f) {
    Field measured(plan.geometry.rows, plan.geometry.columns);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const Complex gain = plan.gains.empty() ? 1.0 : Complex(plan.gains[f * channels + channel]);
      measured.values[channel] = usable[channel] ? gain * spectra[f * channels + channel] : 0.0;
    }
    Field finite = measured;
    for (int channel = 0; channel < plan.geometry.channels(); ++channel) {
      const auto at = static_cast<std::size_t>(channel);
      if (!usable[at] && !masked[at]) {
        finite.values[at] = plan.geometry.is_grid() ? interpolate(measured, usable, channel / measured.columns,
                                                                  channel % measured.columns, plan)
                                                    : interpolate_in_space(measured, usable, channel, plan);
      }
    }
    Field filled = finite;
    Covariances covariances(plan, plan.wavenumber(f));
    for (const int channel : plan.dead_channels) {
      filled.values[static_cast<std::size_t>(channel)] =
          predict(finite, channel, neighbours_of(channel, masked, plan), covariances);
    }
    out.fields.push_back(std::move(filled));
  }
  return out;
}

}  // namespace nearfield::reference
