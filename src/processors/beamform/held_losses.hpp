#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "processors/beamform/history/schedule.hpp"
#include "processors/beamform/snapshots.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Tracks the most bit-times missing from any one window in an average. Windows with a weight below a thousandth of the
/// newest one's count as forgotten.
class LossesOfAverage {
 public:
  using Step = Snapshots::Step;
  /// Adds the next window, with its number of missing bit-times.
  void add(const Step& step, std::uint64_t missing_bit_times);
  /// Value for the average that was published last.
  [[nodiscard]] std::uint64_t published() const { return published_; }
  void forget() { *this = {}; }

 private:
  struct Loss {
    std::uint64_t missing_bit_times = 0;
    double weight = 1.0;
  };
  std::deque<Loss> losses_;  ///< oldest first; each has more missing than those after it
  std::uint64_t published_ = 0;
};

/// Tracks the same figure over the windows of a history, for the maps begun with them.
class LossesOfHistory {
 public:
  using Step = HistorySchedule::Step;
  explicit LossesOfHistory(const HistorySchedule& schedule)
      : snapshots_of_map_(static_cast<std::size_t>(schedule.snapshots_of_map())), is_late_(schedule.lag() > 0) {}
  /// Adds the next window, in the order of HistorySchedule.
  void add(const Step& step, std::uint64_t missing_bit_times);
  [[nodiscard]] std::uint64_t published() const { return published_; }
  /// Value for a map of the last snapshots.
  [[nodiscard]] std::uint64_t held() const { return held_.empty() ? 0 : *std::max_element(held_.begin(), held_.end()); }
  /// Restarts the history; the published value stays.
  void drop_snapshots();
  void forget();

 private:
  std::size_t snapshots_of_map_;
  bool is_late_;
  std::deque<std::uint64_t> held_;  ///< [snapshot of a map], oldest first
  std::uint64_t begun_ = 0;
  std::uint64_t published_ = 0;
};

/// Combines steps, known when windows are computed, with the losses of the windows, known from their stamps when they
/// become frames. A window without a stamp has no losses.
template <class Held>
class StampedLosses {
 public:
  explicit StampedLosses(Held held) : held_(std::move(held)) {}
  /// Restarts the window count at 0.
  void begin() {
    settle(steps_.size());
    steps_.clear();
    of_windows_.clear();
  }
  /// Adds the step of the next window.
  void next(const typename Held::Step& step) { steps_.push_back(step); }
  /// Takes the losses of a window that has a stamp; call it in the order of the windows.
  void stamp(const WindowToRead& of) {
    if (!of.stamp) {
      return;
    }
    settle(of.window);
    if (of_windows_.size() == of.window) {
      held_.add(steps_[of.window], of.stamp->missing_bit_times);
      of_windows_.push_back(held_.published());
    }
  }
  /// Losses in the maps published with a stamped window.
  [[nodiscard]] std::uint64_t missing_bit_times(std::size_t window) const {
    return window < of_windows_.size() ? of_windows_[window] : 0;
  }
  /// Handles the last window, which publishes the held average or history.
  void publish_held(std::size_t window) {
    settle(window + 1);
    of_windows_[window] = held_.held();
  }
  /// State after all windows so far.
  Held& held() {
    settle(steps_.size());
    return held_;
  }

 private:
  void settle(std::size_t end) {
    while (of_windows_.size() < end) {
      held_.add(steps_[of_windows_.size()], 0);
      of_windows_.push_back(held_.published());
    }
  }
  Held held_;
  std::vector<typename Held::Step> steps_;  ///< [window]
  std::vector<std::uint64_t> of_windows_;   ///< [window] of the settled ones
};

}  // namespace nearfield
