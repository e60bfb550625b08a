#include "engine/mask_schedule.hpp"

#include <algorithm>
#include <iterator>

namespace nearfield {

const std::vector<int>& MaskSchedule::at(std::uint64_t first_sample) const {
  static const std::vector<int> kNone;
  const auto after = changes_.upper_bound(first_sample);
  return after == changes_.begin() ? kNone : std::prev(after)->second;
}

std::size_t MaskSchedule::together(std::uint64_t first_sample, std::size_t windows, std::uint64_t hop_samples) const {
  const auto next = changes_.upper_bound(first_sample);
  if (next == changes_.end()) {
    return windows;
  }
  const std::uint64_t until_change = (next->first - first_sample - 1) / hop_samples + 1;
  return static_cast<std::size_t>(std::min<std::uint64_t>(windows, until_change));
}

void MaskSchedule::forget_before(std::uint64_t first_sample) {
  const auto after = changes_.upper_bound(first_sample);
  if (after != changes_.begin()) {
    changes_.erase(changes_.begin(), std::prev(after));
  }
}

void ScheduledMask::use(const MaskSchedule& schedule, std::uint64_t first_sample) {
  const std::vector<int>& wanted = schedule.at(first_sample);
  if (in_effect_ != wanted) {
    in_effect_.reset();  // if use() throws, some processors may have the new mask
    engine_->use(make_masks(engine_->array_plans(), wanted));
    in_effect_ = wanted;
  }
}

}  // namespace nearfield
