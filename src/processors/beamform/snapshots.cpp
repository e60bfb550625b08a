#include "processors/beamform/snapshots.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace nearfield {
namespace {

double window_at(WindowKind window, int sample, int window_samples) {
  return window == WindowKind::kNone ? 1.0 : 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * sample / window_samples);
}

int rounded(double value) {
  return static_cast<int>(std::clamp(std::round(value), 1.0, static_cast<double>(std::numeric_limits<int>::max())));
}

}  // namespace

double correlation_of_windows(WindowKind window, int window_samples, int shift) {
  double product = 0.0;
  double square = 0.0;
  for (int i = 0; i < window_samples; ++i) {
    const double here = window_at(window, i, window_samples);
    square += here * here;
    product += i + shift < window_samples ? here * window_at(window, i + shift, window_samples) : 0.0;
  }
  return product / square;
}

Snapshots::Snapshots(const AverageSettings& average, WindowKind window, int window_samples, double hop_samples,
                     double rate_hz)
    : kind_(average.kind) {
  if (rate_hz <= 0.0) {
    return;
  }
  windows_apart_ = rounded(std::ceil(window_samples / 2.0 / hop_samples));
  const double shift = windows_apart_ * hop_samples;
  const double snapshots = average.seconds * rate_hz / shift;
  snapshots_of_block_ = rounded(snapshots);
  decay_ = std::exp(-1.0 / snapshots);
  const double rho = shift < window_samples
                         ? correlation_of_windows(window, window_samples, static_cast<int>(std::round(shift)))
                         : 0.0;
  correlation_ = rho * rho;
}

Snapshots::Step Snapshots::next() {
  const bool is_due = since_snapshot_ == 0;
  since_snapshot_ = (since_snapshot_ + 1) % windows_apart_;
  if (!is_due) {
    return {};
  }
  if (kind_ == AverageKind::kExponential) {
    const double keep = has_any_ ? decay_ : 0.0;
    count(keep);
    effective_ = sum_ * sum_ / (squares_ + 2.0 * correlation_ * neighbours_);
    return {.is_snapshot = true, .keep = keep, .publishes = true};
  }
  const double keep = in_block_ == 0 ? 0.0 : 1.0;
  in_block_ = (in_block_ + 1) % snapshots_of_block_;
  const bool ends = in_block_ == 0;
  const bool publishes = ends || !has_block_;
  has_block_ = has_block_ || ends;
  count(keep);
  if (publishes) {
    effective_ = sum_ * sum_ / (squares_ + 2.0 * correlation_ * neighbours_);
  }
  return {.is_snapshot = true, .keep = keep, .publishes = publishes};
}

/// The newest weight is 1, and was before.
void Snapshots::count(double keep) {
  neighbours_ = keep * keep * neighbours_ + keep;
  squares_ = keep * keep * squares_ + 1.0;
  sum_ = keep * sum_ + 1.0;
  has_any_ = true;
}

}  // namespace nearfield
