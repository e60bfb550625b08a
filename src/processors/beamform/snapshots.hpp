#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "processors/beamform/settings.hpp"
#include "processors/processor.hpp"

namespace nearfield {

/// Selects the windows of an average and their weights: windows half a window or more after the last one taken, because
/// nearer ones add no information. A linear average is the mean of a block; until the first block is complete it is the
/// mean of the windows so far. An exponential one weights a snapshot by exp(-age / seconds), from the first one on.
class Snapshots {
 public:
  /// Windows of `window_samples` come `hop_samples` apart; `rate_hz` is 0 if they have no times: then each is a
  /// snapshot, and a block has one.
  Snapshots(const AverageSettings& average, WindowKind window, int window_samples, double hop_samples, double rate_hz);

  struct Step {
    bool is_snapshot = false;
    double keep = 0.0;       ///< factor for the sum so far
    bool publishes = false;  ///< the sum so far becomes the map
  };
  /// Step for the next window.
  Step next();
  /// Resets to the state before the first window.
  void forget();
  /// Effective number of independent snapshots of the map that was published last: (sum w)^2 over the double sum of w_i
  /// w_j rho_ij^2, where rho is the correlation of two windows of white noise. Snapshots without enough microphones are
  /// counted.
  [[nodiscard]] double effective() const { return state_.effective; }
  [[nodiscard]] int windows_apart() const { return windows_apart_; }
  /// Effective number for the mean of `count` snapshots with equal weights.
  [[nodiscard]] double effective_of(int count) const;
  [[nodiscard]] int snapshots_of_block() const { return snapshots_of_block_; }

 private:
  void count(double keep);
  AverageKind kind_;
  int windows_apart_ = 1;
  int snapshots_of_block_ = 1;
  double decay_ = 0.0;        ///< factor per snapshot of an exponential average
  double correlation_ = 0.0;  ///< rho^2 of neighbours
  struct State {
    int since_snapshot = 0;
    int in_block = 0;
    bool has_block = false;
    bool has_any = false;
    double sum = 0.0;         ///< sum of weights
    double squares = 0.0;     ///< sum of squared weights
    double neighbours = 0.0;  ///< sum of products of neighbouring weights
    double effective = 0.0;
  };
  State state_;
};

/// Correlation of the spectra of two windows of white noise, `shift` samples apart.
double correlation_of_windows(WindowKind window, int window_samples, int shift);

/// Schedule of a history: which windows become snapshots, and when a map of the last ones is begun and published. Maps
/// begin at most `map_rate_hz` times a second, once there are two snapshots more than sources, and are published
/// `lag()` snapshots later, which gives a decomposition that time on another thread. Order within a snapshot's window:
/// the due map is made from the earlier snapshots, the window becomes a snapshot, the next map is begun.
class HistorySchedule {
 public:
  /// Windows as in `snapshots`, `windows_per_s` of them; 0 if they have no times.
  HistorySchedule(const BeamformSettings& settings, const Snapshots& snapshots, double windows_per_s);

  struct Step {
    bool is_snapshot = false;
    bool begins = false;     ///< begins a map of the snapshots up to this one
    bool publishes = false;  ///< publishes the map begun last; where lag() is 0, the one that begins
  };
  /// Step for the next window.
  Step next();
  void forget();
  /// Number of snapshots from the beginning of a map to its publication.
  [[nodiscard]] int lag() const { return lag_; }
  /// Size of the ring of snapshots, such that none is overwritten while a map needs it.
  [[nodiscard]] int slots() const { return snapshots_ + (lag_ > 0 ? lag_ - 1 : 0); }
  [[nodiscard]] int snapshots_of_map() const { return snapshots_; }
  [[nodiscard]] int snapshots_between_maps() const { return apart_; }
  /// Slot of the last snapshot.
  [[nodiscard]] int slot() const { return (state_.count - 1) % slots(); }
  /// True if there are enough snapshots for a map.
  [[nodiscard]] bool has_enough() const { return state_.count >= fewest_; }
  /// Number of snapshots of a map that begins now: the last ones, at most snapshots_of_map().
  [[nodiscard]] int held() const { return state_.count < snapshots_ ? state_.count : snapshots_; }
  /// Slot of the oldest of them.
  [[nodiscard]] int first_slot() const { return (state_.count - held()) % slots(); }

 private:
  int windows_apart_;
  int snapshots_;
  int fewest_;
  int apart_ = 1;
  int lag_ = 0;
  struct State {
    int since_snapshot = 0;
    int count = 0;        ///< number of snapshots; beyond two rounds of the slots it restarts at one round
    int since_begin = 0;  ///< snapshots since the last map began, inclusive; 0: no map has begun
  };
  State state_;
};

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
