#include "imaging/priors/prior_fill.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

#include "imaging/shared/each_frequency.hpp"

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

namespace {

using Eigen::Index;

/// Cache of this process: engines and imagers that mask the same array make masks one after the other.
PriorInverses& kept_inverses() {
  static PriorInverses kept(kFillNoise, kKeptInverseBytes);
  return kept;
}

}  // namespace

FoldedPlace folded_place(const ArrayGeometry& geometry, Index channel, std::size_t parity) {
  const Index row = channel / geometry.columns;
  const Index column = channel % geometry.columns;
  const Index far_row = geometry.rows - 1 - row;
  const Index far_column = geometry.columns - 1 - column;
  const auto along = [](Index near, Index far, bool is_odd) {
    // A centre line is its own mirror image: it counts twice in even classes and not at all in odd ones.
    return near == far ? (is_odd ? 0.0 : 2.0) : (near > far && is_odd ? -1.0 : 1.0);
  };
  return {.sample = std::min(row, far_row) * ((geometry.columns + 1) / 2) + std::min(column, far_column),
          .weight = along(row, far_row, (parity & 2U) != 0) * along(column, far_column, (parity & 1U) != 0)};
}

Eigen::MatrixXd prior_fill_matrix(const ArrayPlan& plan, std::size_t frequency,
                                  const std::vector<std::int32_t>& masked) {
  // The fill x for which (C + n)^{-1} of the whole field is 0 at the masked microphones: rows of that inverse, then
  // their block at the masked microphones.
  const auto count = static_cast<Index>(masked.size());
  const Index channels = plan.geometry.channels();
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(count, channels);
  const std::shared_ptr<const PriorInverses::Classes> kept = kept_inverses().of(plan, frequency);
  const PriorInverses::Classes& inverses = *kept;
  for (std::size_t c = 0; c < kParities; ++c) {
    std::vector<FoldedPlace> places;
    for (Index channel = 0; channel < channels; ++channel) {
      places.push_back(folded_place(plan.geometry, channel, c));
    }
    for (Index channel = 0; channel < channels; ++channel) {
      const FoldedPlace& to = places[static_cast<std::size_t>(channel)];
      for (Index i = 0; i < count; ++i) {
        const FoldedPlace& from = places[static_cast<std::size_t>(masked[static_cast<std::size_t>(i)])];
        rows(i, channel) += from.weight * to.weight * inverses[c](from.sample, to.sample);
      }
    }
  }
  Eigen::MatrixXd block(count, count);
  for (Index i = 0; i < count; ++i) {
    const Index channel = masked[static_cast<std::size_t>(i)];
    block.col(i) = rows.col(channel);
    rows.col(channel).setZero();
  }
  return -block.llt().solve(rows);
}

void forget_prior_fills(const ArrayPlan& plan) { kept_inverses().forget(plan); }

std::vector<float> prior_fill(const ArrayPlan& plan, const std::vector<std::int32_t>& masked) {
  const std::size_t values = masked.size() * static_cast<std::size_t>(plan.geometry.channels());
  const std::size_t frequencies = plan.frequencies_hz.size();
  std::vector<float> weights(frequencies * values);
  for_each_frequency(frequencies, std::thread::hardware_concurrency(), [&](std::size_t f) {
    const Eigen::MatrixXd fill = prior_fill_matrix(plan, f, masked);
    auto to = weights.begin() + static_cast<std::ptrdiff_t>(f * values);
    for (Index i = 0; i < fill.rows(); ++i) {
      to = std::transform(fill.row(i).begin(), fill.row(i).end(), to,
                          [](double weight) { return static_cast<float>(weight); });
    }
  });
  return weights;
}

}  // namespace nearfield
