#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "processors/srp_phat/sources.hpp"

namespace nearfield {

/// Sources over time: each track a Kalman filter of constant velocity along x, y and z, born of `confirm` of the last
/// frames, and dead `forget_s` after its last source, four times that where another one hides it. Accelerations are
/// white over a window's length.
class SrpTracks {
 public:
  explicit SrpTracks(const SrpPlan& plan);

  /// The sources of the next frame, `seconds` after the one before; returns the rows of its table: confirmed
  /// tracks with a source, those without one, and the sources that belong to neither. They hold until the next call.
  std::span<const SrpSource> add(std::span<const SrpSource> sources, double seconds);
  /// A stream begins: there are no tracks. Ids go on.
  void forget() { tracks_.clear(); }

 private:
  struct Axis {
    double place = 0.0;
    double velocity = 0.0;
    double place_variance = 0.0;
    double covariance = 0.0;
    double velocity_variance = 0.0;
  };
  struct Track {
    std::array<Axis, 3> axes;
    std::uint32_t id = 0;             ///< 0: not confirmed
    std::deque<bool> seen;            ///< of the last frames, while it is not confirmed
    double unseen_s = 0.0;            ///< since its last source, while it was hidden counted slower
    SrpSource last;                   ///< its last source
    int source = -1;                  ///< of the present frame, -1: none
    std::uint32_t neighbour = 0;      ///< the track whose source may hide its own, or be hidden by it; 0: none
    bool is_hidden = false;           ///< it has no source, and its neighbour has one
    double neighbour_variance = 0.0;  ///< of its source's place, as other tracks are near
  };
  /// Of a source to a track.
  struct Fit {
    double squares = 0.0;       ///< distance in standard deviations, squared
    double log_variance = 0.0;  ///< ln of the product of its variances
  };
  static Fit fit_of(const Track& track, const SrpSource& source);
  static far_field::Position place_of(const Track& track);
  [[nodiscard]] bool is_within_separation(const far_field::Position& one, const far_field::Position& other) const;
  [[nodiscard]] bool is_new(const SrpSource& source) const;
  void find_neighbours();
  [[nodiscard]] double variance_by(const Track& other, double angle, const Track& track) const;
  void find_hidden();
  void predict(double seconds);
  void keep_length(Track& track) const;
  /// [source] the track that it belongs to, or -1.
  [[nodiscard]] std::vector<int> assign(std::span<const SrpSource> sources) const;
  void update(Track& track, const SrpSource& source) const;
  void write_rows(std::span<const SrpSource> sources);
  Track& begin(const SrpSource& source);
  void confirm_and_forget();
  [[nodiscard]] SrpSource row_of(const Track& track) const;

  TrackSettings settings_;
  double significance_;
  double separation_;     ///< rad
  double seconds_apart_;  ///< from frame to frame
  double window_s_;
  bool is_far_;
  std::vector<Track> tracks_;
  std::shared_ptr<TrackIds> ids_;
  std::vector<SrpSource> rows_;
};

/// The cheapest assignment: [row] its column, of as many or fewer rows than columns; `costs` [row][column] (Munkres
/// 1957, with the potentials of Jonker and Volgenant).
std::vector<int> cheapest_assignment(const std::vector<std::vector<double>>& costs);

}  // namespace nearfield
