#include "health/local_priors.hpp"

#include <algorithm>
#include <cmath>

namespace nearfield::health {
namespace {

constexpr std::size_t kPriorSize = Neighbourhoods::kSize;

/// Wavenumbers of the rings, times the larger pitch.
constexpr double kSmallestRing = 0.35;
constexpr double kLargestRing = 2.6;
/// Standard deviation of a ring's wavenumber over the wavenumber.
constexpr double kRingWidth = 0.08;

/// Covariance of two microphones r apart in a field of waves of one wavenumber from all directions, averaged over the
/// ring's width by five points of a Gaussian.
double ring_covariance(double wavenumber_rad_per_m, double r_m) {
  constexpr std::array kPoints = {-2.0, -1.0, 0.0, 1.0, 2.0};
  double sum = 0.0;
  double weights = 0.0;
  for (const double point : kPoints) {
    const double weight = std::exp(-0.5 * point * point);
    sum += weight * ::j0(wavenumber_rad_per_m * std::exp(kRingWidth * point) * r_m);
    weights += weight;
  }
  return sum / weights;
}

/// Inverts a symmetric positive definite matrix in place by Gauss-Jordan steps; returns the logarithm of the inverse's
/// determinant.
double invert(std::array<double, kPriorSize * kPriorSize>& matrix) {
  double log_determinant = 0.0;
  for (std::size_t k = 0; k < kPriorSize; ++k) {
    const double pivot = matrix[k * kPriorSize + k];
    log_determinant -= std::log(pivot);
    matrix[k * kPriorSize + k] = 1.0;
    for (std::size_t j = 0; j < kPriorSize; ++j) {
      matrix[k * kPriorSize + j] /= pivot;
    }
    for (std::size_t i = 0; i < kPriorSize; ++i) {
      if (i == k) {
        continue;
      }
      const double factor = matrix[i * kPriorSize + k];
      matrix[i * kPriorSize + k] = 0.0;
      for (std::size_t j = 0; j < kPriorSize; ++j) {
        matrix[i * kPriorSize + j] -= factor * matrix[k * kPriorSize + j];
      }
    }
  }
  return log_determinant;
}

}  // namespace

LocalPriors::LocalPriors(const Neighbourhoods& neighbourhoods, const ArrayGeometry& geometry,
                         double wavenumber_rad_per_m, double standoff_m)
    : neighbourhoods_(&neighbourhoods),
      geometry_(geometry),
      wavenumber_rad_per_m_(wavenumber_rad_per_m),
      precisions_(kCount * neighbourhoods.shapes().size()) {
  for (const double factor : kDistanceFactors) {
    layers_.emplace_back(geometry, wavenumber_rad_per_m, factor * standoff_m);
  }
}

double LocalPriors::covariance(std::size_t prior, int rows, int columns) {
  if (prior < kLayers) {
    return layers_[prior / kNoises.size()].between(rows, columns);
  }
  if (prior == kRoom) {
    const double kr = wavenumber_rad_per_m_ * std::hypot(rows * geometry_.pitch_y_m, columns * geometry_.pitch_x_m);
    const double diffuse = kr > 0.0 ? std::sin(kr) / kr : 1.0;
    return 0.5 * (layers_[kStandoff / kNoises.size()].between(rows, columns) + diffuse);
  }
  const auto ring = static_cast<double>(prior - kLayers) / (kRings - 1);
  const double pitch_m = std::max(geometry_.pitch_x_m, geometry_.pitch_y_m);
  const double wavenumber = kSmallestRing * std::pow(kLargestRing / kSmallestRing, ring) / pitch_m;
  return ring_covariance(wavenumber, std::hypot(rows * geometry_.pitch_y_m, columns * geometry_.pitch_x_m));
}

std::unique_ptr<Precision> LocalPriors::compute(std::size_t prior, std::size_t shape) {
  auto precision = std::make_unique<Precision>();
  const Neighbourhoods::Shape& members = neighbourhoods_->shapes()[shape];
  const bool has_field = prior != kNoiseAlone;
  precision->is_identity = !has_field;
  for (std::size_t a = 0; a < kPriorSize; ++a) {
    for (std::size_t b = 0; has_field && b < a; ++b) {
      const double value =
          covariance(prior, members[a].rows - members[b].rows, members[a].columns - members[b].columns);
      precision->matrix[a * kPriorSize + b] = value;
      precision->matrix[b * kPriorSize + a] = value;
    }
    const double noise = prior < kLayers ? kNoises[prior % kNoises.size()] : kNoiseOfRings;
    precision->matrix[a * kPriorSize + a] = has_field ? 1.0 + noise : 1.0;
  }
  precision->log_determinant = invert(precision->matrix);
  return precision;
}

const Precision& LocalPriors::precision(std::size_t prior, std::size_t shape) {
  std::unique_ptr<Precision>& known = precisions_[prior * neighbourhoods_->shapes().size() + shape];
  if (known == nullptr) {
    known = compute(prior, shape);
  }
  return *known;
}

}  // namespace nearfield::health
