#include "imaging/sonah/prior_inverses.hpp"

#include <algorithm>
#include <iterator>

namespace nearfield {
namespace {

std::size_t bytes_of(const PriorInverses::Classes& inverses) {
  std::size_t bytes = 0;
  for (const Eigen::MatrixXd& inverse : inverses) {
    bytes += sizeof(double) * static_cast<std::size_t>(inverse.size());
  }
  return bytes;
}

}  // namespace

PriorInverses::Key PriorInverses::key_of(const ArrayPlan& plan, double wavenumber) {
  const ArrayGeometry& geometry = plan.geometry;
  return {.rows = geometry.rows,
          .columns = geometry.columns,
          .pitch_x_m = geometry.pitch_x_m,
          .pitch_y_m = geometry.pitch_y_m,
          .standoff_m = plan.standoff_m,
          .wavenumber = wavenumber};
}

std::shared_ptr<const PriorInverses::Classes> PriorInverses::of(const ArrayPlan& plan, std::size_t frequency) {
  const Key key = key_of(plan, plan.wavenumber(frequency));
  std::shared_ptr<const Classes> inverses = find(key);
  if (!inverses) {
    // Computed without the lock, as it takes a tenth of a second.
    inverses = std::make_shared<const Classes>(inverse_covariances(plan, frequency, noise_));
    keep(key, inverses);
  }
  return inverses;
}

std::shared_ptr<const PriorInverses::Classes> PriorInverses::find(const Key& key) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.key == key; });
  if (found == kept_.end()) {
    return nullptr;
  }
  kept_.splice(kept_.begin(), kept_, found);
  return found->inverses;
}

void PriorInverses::keep(const Key& key, const std::shared_ptr<const Classes>& inverses) {
  const std::scoped_lock lock(mutex_);
  ++made_;
  const std::size_t bytes = bytes_of(*inverses);
  // Another thread may have made it meanwhile.
  const bool is_there = std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.key == key; });
  if (is_there || bytes > most_bytes_) {
    return;
  }
  kept_.push_front({.key = key, .inverses = inverses});
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    bytes_ -= bytes_of(*kept_.back().inverses);
    kept_.pop_back();
  }
}

void PriorInverses::forget(const ArrayPlan& plan) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) {
    const bool is_of_array = kept.key == key_of(plan, kept.key.wavenumber);
    bytes_ -= is_of_array ? bytes_of(*kept.inverses) : 0;
    return is_of_array;
  });
}

std::size_t PriorInverses::made() const {
  const std::scoped_lock lock(mutex_);
  return made_;
}

std::size_t PriorInverses::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

}  // namespace nearfield
