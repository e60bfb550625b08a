#include "health/local_field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nearfield::health {
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
