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

double Snapshots::effective_of(int count) const {
  return static_cast<double>(count) * count / (count + 2.0 * correlation_ * (count - 1));
}

void Snapshots::forget() { state_ = State(); }

Snapshots::Step Snapshots::next() {
  const bool is_due = state_.since_snapshot == 0;
  state_.since_snapshot = (state_.since_snapshot + 1) % windows_apart_;
  if (!is_due) {
    return {};
  }
  if (kind_ == AverageKind::kExponential) {
    const double keep = state_.has_any ? decay_ : 0.0;
    count(keep);
    state_.effective = state_.sum * state_.sum / (state_.squares + 2.0 * correlation_ * state_.neighbours);
    return {.is_snapshot = true, .keep = keep, .publishes = true};
  }
  const double keep = state_.in_block == 0 ? 0.0 : 1.0;
  state_.in_block = (state_.in_block + 1) % snapshots_of_block_;
  const bool ends = state_.in_block == 0;
  const bool publishes = ends || !state_.has_block;
  state_.has_block = state_.has_block || ends;
  count(keep);
  if (publishes) {
    state_.effective = state_.sum * state_.sum / (state_.squares + 2.0 * correlation_ * state_.neighbours);
  }
  return {.is_snapshot = true, .keep = keep, .publishes = publishes};
}

/// The newest weight is 1, as was the previous one before scaling.
void Snapshots::count(double keep) {
  state_.neighbours = keep * keep * state_.neighbours + keep;
  state_.squares = keep * keep * state_.squares + 1.0;
  state_.sum = keep * state_.sum + 1.0;
  state_.has_any = true;
}

namespace {

/// A longer lag would not help a decomposition that takes longer than the time between maps.
constexpr int kMostLag = 8;
constexpr double kMostApart = 1e6;

}  // namespace

HistorySchedule::HistorySchedule(const BeamformSettings& settings, const Snapshots& snapshots, double windows_per_s)
    : windows_apart_(snapshots.windows_apart()), snapshots_(settings.average.snapshots), fewest_(settings.sources + 2) {
  if (windows_per_s > 0.0) {
    constexpr double kRounding = 1e-9;  // for a rate that equals the snapshots' or is a fraction of it
    const double wanted = windows_per_s / windows_apart_ / settings.map_rate_hz;
    apart_ = static_cast<int>(std::clamp(std::ceil(wanted * (1.0 - kRounding)), 1.0, kMostApart));
  }
  lag_ = settings.method == Method::kCleanSc && !settings.removes_own_noise() ? 0 : std::min(apart_, kMostLag);
}

void HistorySchedule::forget() { state_ = State(); }

HistorySchedule::Step HistorySchedule::next() {
  const bool is_due = state_.since_snapshot == 0;
  state_.since_snapshot = (state_.since_snapshot + 1) % windows_apart_;
  if (!is_due) {
    return {};
  }
  Step step{.is_snapshot = true};
  state_.count = state_.count + 1 >= 2 * slots() ? state_.count + 1 - slots() : state_.count + 1;
  if (state_.since_begin > 0) {
    step.publishes = lag_ > 0 && state_.since_begin == lag_;
    ++state_.since_begin;
  }
  const bool has_waited = state_.since_begin == 0 || state_.since_begin > apart_;
  if (has_waited && state_.count >= fewest_) {
    step.begins = true;
    step.publishes = step.publishes || lag_ == 0;
    state_.since_begin = 1;
  }
  return step;
}

void LossesOfAverage::add(const Step& step, std::uint64_t missing_bit_times) {
  constexpr double kLeastWeight = 1e-3;
  if (!step.is_snapshot) {
    return;
  }
  for (Loss& loss : losses_) {
    loss.weight *= step.keep;
  }
  while (!losses_.empty() && losses_.front().weight < kLeastWeight) {
    losses_.pop_front();
  }
  // An older window with no more missing and less weight can never be the maximum again.
  while (!losses_.empty() && losses_.back().missing_bit_times <= missing_bit_times) {
    losses_.pop_back();
  }
  if (missing_bit_times > 0) {
    losses_.push_back({.missing_bit_times = missing_bit_times});
  }
  if (step.publishes) {
    published_ = losses_.empty() ? 0 : losses_.front().missing_bit_times;
  }
}

void LossesOfHistory::add(const Step& step, std::uint64_t missing_bit_times) {
  if (!step.is_snapshot) {
    return;
  }
  if (step.publishes && is_late_) {
    published_ = begun_;
  }
  held_.push_back(missing_bit_times);
  if (held_.size() > snapshots_of_map_) {
    held_.pop_front();
  }
  if (step.begins) {
    begun_ = *std::max_element(held_.begin(), held_.end());
  }
  if (step.publishes && !is_late_) {
    published_ = begun_;
  }
}

void LossesOfHistory::drop_snapshots() {
  held_.clear();
  begun_ = 0;
}

void LossesOfHistory::forget() {
  drop_snapshots();
  published_ = 0;
}

}  // namespace nearfield
