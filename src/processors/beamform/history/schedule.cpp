#include "processors/beamform/history/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace nearfield {
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

}  // namespace nearfield
