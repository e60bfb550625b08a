#include "processors/beamform/held_losses.hpp"

#include <algorithm>

namespace nearfield {

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
