#pragma once
#include "processors/beamform/settings.hpp"
#include "processors/beamform/snapshots.hpp"

namespace nearfield {

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

}  // namespace nearfield
