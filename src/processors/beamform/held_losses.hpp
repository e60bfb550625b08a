#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "processors/beamform/history/schedule.hpp"
#include "processors/beamform/snapshots.hpp"

namespace nearfield {

/// Of the windows that an average holds, the most bit-times that lack from any one. Those whose weight has fallen below
/// a thousandth of the newest one's count as forgotten.
class LossesOfAverage {
 public:
  using Step = Snapshots::Step;
  /// The next window, which lacks so many bit-times.
  void add(const Step& step, std::uint64_t missing_bit_times);
  /// Of the average that was published last.
  [[nodiscard]] std::uint64_t published() const { return published_; }
  void forget() { *this = {}; }

 private:
  struct Loss {
    std::uint64_t missing_bit_times = 0;
    double weight = 1.0;
  };
  std::deque<Loss> losses_;  ///< the oldest first; each lacks more than those behind it
  std::uint64_t published_ = 0;
};

/// The same of the windows of a history, for the maps that were begun with them.
class LossesOfHistory {
 public:
  using Step = HistorySchedule::Step;
  explicit LossesOfHistory(const HistorySchedule& schedule)
      : snapshots_of_map_(static_cast<std::size_t>(schedule.snapshots_of_map())), is_late_(schedule.lag() > 0) {}
  /// The next window, in the order of HistorySchedule.
  void add(const Step& step, std::uint64_t missing_bit_times);
  [[nodiscard]] std::uint64_t published() const { return published_; }
  /// Of a map of the last snapshots.
  [[nodiscard]] std::uint64_t held() const { return held_.empty() ? 0 : *std::max_element(held_.begin(), held_.end()); }
  /// The history begins anew; what is published stays.
  void drop_snapshots();
  void forget();

 private:
  std::size_t snapshots_of_map_;
  bool is_late_;
  std::deque<std::uint64_t> held_;  ///< [snapshot of a map], the oldest first
  std::uint64_t begun_ = 0;
  std::uint64_t published_ = 0;
};

/// Brings steps, which are known when windows are computed, together with the losses of the windows, which are known
/// when these become frames, by their stamps. A window without a stamp lacks nothing.
template <class Held>
class StampedLosses {
 public:
  explicit StampedLosses(Held held) : held_(std::move(held)) {}
  /// Windows count from 0 again.
  void begin() {
    settle(steps_.size());
    steps_.clear();
    of_windows_.clear();
  }
  /// Of the next window.
  void next(const typename Held::Step& step) { steps_.push_back(step); }
  /// In the order of the windows.
  void stamp(std::size_t window, std::uint64_t missing_bit_times) {
    settle(window);
    if (of_windows_.size() == window) {
      held_.add(steps_[window], missing_bit_times);
      of_windows_.push_back(held_.published());
    }
  }
  /// Of what is published with a window that has a stamp.
  [[nodiscard]] std::uint64_t missing_bit_times(std::size_t window) const {
    return window < of_windows_.size() ? of_windows_[window] : 0;
  }
  /// Of the last window, which publishes what is held.
  void publish_held(std::size_t window) {
    settle(window + 1);
    of_windows_[window] = held_.held();
  }
  /// What is held, after all windows so far.
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
  std::vector<std::uint64_t> of_windows_;   ///< [window], of those that are settled
};

}  // namespace nearfield
