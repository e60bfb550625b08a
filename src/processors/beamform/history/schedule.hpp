#pragma once
#include "processors/beamform/settings.hpp"
#include "processors/beamform/snapshots.hpp"

namespace nearfield {

/// Which windows become snapshots of a history, and when a map of the last of them is begun and published: begun at
/// most `map_rate_hz` times a second, once there are two snapshots more than sources; published `lag()` snapshots
/// later, so that a decomposition has that time on another thread. The order of a snapshot's window is: the map that
/// is due is made of the snapshots before, the window becomes a snapshot, the next map is begun.
class HistorySchedule {
 public:
  /// Windows as of `snapshots`, `rate_hz` of them a second; 0 where they have no times.
  HistorySchedule(const BeamformSettings& settings, const Snapshots& snapshots, double windows_per_s);

  struct Step {
    bool is_snapshot = false;
    bool begins = false;     ///< a map of the snapshots up to this one
    bool publishes = false;  ///< the map that was begun last; where lag() is 0, the one that begins
  };
  /// Of the next window.
  Step next();
  void forget();
  /// Snapshots from the one that begins a map to the one that publishes it.
  [[nodiscard]] int lag() const { return lag_; }
  /// Places for snapshots, of which none is overwritten while a map needs it.
  [[nodiscard]] int slots() const { return snapshots_ + (lag_ > 0 ? lag_ - 1 : 0); }
  [[nodiscard]] int snapshots_of_map() const { return snapshots_; }
  [[nodiscard]] int snapshots_between_maps() const { return apart_; }
  /// Where the last snapshot lies.
  [[nodiscard]] int slot() const { return (state_.count - 1) % slots(); }
  /// Whether there are as many as a map needs.
  [[nodiscard]] bool has_enough() const { return state_.count >= fewest_; }
  /// The snapshots of a map that begins now: the last ones, at most snapshots_of_map().
  [[nodiscard]] int held() const { return state_.count < snapshots_ ? state_.count : snapshots_; }
  /// Where the oldest of them lies.
  [[nodiscard]] int first_slot() const { return (state_.count - held()) % slots(); }

 private:
  int windows_apart_;
  int snapshots_;
  int fewest_;
  int apart_ = 1;
  int lag_ = 0;
  struct State {
    int since_snapshot = 0;
    int count = 0;        ///< of snapshots; beyond two rounds of the slots it counts on from one round
    int since_begin = 0;  ///< snapshots, that of the beginning included; 0: no map has begun
  };
  State state_;
};

}  // namespace nearfield
