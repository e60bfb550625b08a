#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "processors/srp_phat/significance.hpp"
#include "processors/srp_phat/sources.hpp"

namespace nearfield {

/// Sources over time: each track is a Kalman filter of constant velocity along x, y and z. It is born when `confirm` of
/// the last frames have its source, and dies `forget_s` after its last source, four times that if another track hides
/// it. Accelerations are white over a window's length.
class SrpTracks {
 public:
  explicit SrpTracks(const SrpPlan& plan);

  /// Adds the sources of the next frame, `seconds` after the previous one. Returns the rows of its table: confirmed
  /// tracks with a source, those without one, and the sources that belong to neither. Valid until the next call.
  std::span<const SrpSource> add(std::span<const SrpSource> sources, double seconds);
  /// Starts a stream without tracks. Ids continue.
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
    std::deque<bool> seen;            ///< in the last frames, until it is confirmed
    double unseen_s = 0.0;            ///< time since its last source; runs slower while hidden
    SrpSource last;                   ///< its last source
    int source = -1;                  ///< index in the present frame, -1: none
    std::uint32_t neighbour = 0;      ///< track whose source may hide its own, or be hidden by it; 0: none
    bool is_hidden = false;           ///< true: it has no source, and its neighbour has one
    double neighbour_variance = 0.0;  ///< variance of its source's position due to nearby tracks
  };
  /// Track cost of a source.
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
  /// [source] index of its track, or -1.
  [[nodiscard]] std::vector<int> assign(std::span<const SrpSource> sources) const;
  void update(Track& track, const SrpSource& source) const;
  void write_rows(std::span<const SrpSource> sources);
  Track& begin(const SrpSource& source);
  void confirm_and_forget();
  [[nodiscard]] SrpSource row_of(const Track& track) const;

  TrackSettings settings_;
  double significance_;
  double separation_;     ///< rad
  double seconds_apart_;  ///< from one frame to the next
  double window_s_;
  bool is_far_;
  std::vector<Track> tracks_;
  std::shared_ptr<TrackIds> ids_;
  std::vector<SrpSource> rows_;
};

/// Finds the cheapest assignment: [row] its column, for at most as many rows as columns; `costs` [row][column] (Munkres
/// 1957, with the potentials of Jonker and Volgenant).
std::vector<int> cheapest_assignment(const std::vector<std::vector<double>>& costs);

/// Makes the tables of sources of successive frames, on the host. There are tracks if the settings want them and
/// windows have times, which spectra do not have.
class SrpHistory {
 public:
  explicit SrpHistory(const SrpPlan& plan) : plan_(plan), significance_(plan_) {
    if (plan_.settings.tracks.enabled && plan_.hop_s > 0.0) {
      tracks_.emplace(plan_);
    }
  }
  /// Adds the next frame, or a window without a stamp, treated as the next frame; `table` has the size of
  /// sources_product().
  void add(const SrpWindow& window, const std::optional<FrameStamp>& given, std::span<std::byte> table) {
    const auto every = static_cast<std::uint64_t>(plan_.every_hops);
    const FrameStamp stamp = given.value_or(FrameStamp{.sequence = last_ + every});
    const std::uint64_t passed = has_last_ && stamp.sequence > last_ ? stamp.sequence - last_ : every;
    std::vector<SrpSource> sources = sources_of(plan_, significance_, window);
    for (SrpSource& source : sources) {
      source.first_bit_time = stamp.first_bit_time;
    }
    write_sources(plan_, tracks_ ? tracks_->add(sources, static_cast<double>(passed) * plan_.hop_s) : sources, table);
    last_ = stamp.sequence;
    has_last_ = true;
  }
  /// Starts a stream.
  void forget() {
    has_last_ = false;
    if (tracks_) {
      tracks_->forget();
    }
  }

 private:
  SrpPlan plan_;
  SrpSignificance significance_;
  std::optional<SrpTracks> tracks_;
  std::uint64_t last_ = 0;  ///< sequence of the previous frame
  bool has_last_ = false;
};

}  // namespace nearfield
