#include "health/local_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace nearfield::health {

Neighbourhoods::Neighbourhoods(const ArrayGeometry& geometry)
    : shape_of_(static_cast<std::size_t>(geometry.channels())), users_(shape_of_.size()) {
  const std::vector<std::uint8_t> all(shape_of_.size(), 1);
  std::map<Shape, std::size_t> known;
  for (std::size_t i = 0; i < shape_of_.size(); ++i) {
    const int channel = static_cast<int>(i);
    std::vector<int> set = nearest_usable(geometry, all, channel, kSize - 1);
    set.insert(set.begin(), channel);
    Shape shape;
    for (std::size_t m = 0; m < kSize; ++m) {
      shape[m] = {.rows = set[m] / geometry.columns - channel / geometry.columns,
                  .columns = set[m] % geometry.columns - channel % geometry.columns};
      users_[static_cast<std::size_t>(set[m])].push_back(channel);
    }
    members_.insert(members_.end(), set.begin(), set.end());
    const auto [entry, is_new] = known.emplace(shape, shapes_.size());
    if (is_new) {
      shapes_.push_back(shape);
    }
    shape_of_[i] = entry->second;
  }
}

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

namespace {

constexpr double kTiny = std::numeric_limits<double>::min();

}  // namespace

LocalField::LocalField(const Precision& precision, const Values& values)
    : precision_(&precision), values_(values), log_determinant_(precision.log_determinant) {
  if (precision.is_identity) {
    whitened_ = values;
    for (const std::complex<double>& value : values) {
      power_ += std::norm(value);
    }
    return;
  }
  std::array<double, kSize> re{};
  std::array<double, kSize> im{};
  for (std::size_t b = 0; b < kSize; ++b) {
    const double* row = precision.matrix.data() + b * kSize;  // the matrix is symmetric: also its column
    for (std::size_t a = 0; a < kSize; ++a) {
      re[a] += row[a] * values[b].real();
      im[a] += row[a] * values[b].imag();
    }
  }
  for (std::size_t a = 0; a < kSize; ++a) {
    whitened_[a] = {re[a], im[a]};
    power_ += values[a].real() * re[a] + values[a].imag() * im[a];
  }
}

/// Marginalises over the member: the Schur complement of the precision.
void LocalField::leave_out(std::size_t member) {
  if (!has_own_) {
    own_ = precision_->matrix;
    has_own_ = true;
  }
  const double pivot = own_[member * kSize + member];
  const std::complex<double> whitened = whitened_[member];
  std::array<double, kSize> column{};
  std::copy_n(own_.begin() + static_cast<std::ptrdiff_t>(member * kSize), kSize, column.begin());
  for (std::size_t a = 0; a < kSize; ++a) {
    const double factor = column[a] / pivot;
    whitened_[a] -= factor * whitened;
    for (std::size_t b = 0; b < kSize; ++b) {
      own_[a * kSize + b] -= factor * column[b];
    }
  }
  power_ = std::max(power_ - std::norm(whitened) / pivot, 0.0);
  log_determinant_ -= std::log(pivot);
  is_out_[member] = true;
  --count_;
}

LocalPrediction LocalField::predict() const {
  const double own = matrix()[0];
  const auto n = static_cast<double>(neighbours());
  const double scale = std::max((power_ - misfit(0)) / n, kTiny);
  return {.value = values_[0] - whitened_[0] / own,
          .variance = scale / own,
          .scale = scale,
          .freedom = n,
          .log_evidence = log_determinant_ - std::log(own) - n * std::log(scale)};
}

std::size_t LocalField::worst() const {
  std::size_t worst = 0;
  double largest = -1.0;
  for (std::size_t member = 1; member < kSize; ++member) {
    if (!is_out_[member] && misfit(member) > largest) {
      largest = misfit(member);
      worst = member;
    }
  }
  return worst;
}

}  // namespace nearfield::health
