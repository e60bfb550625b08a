#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/daemon_settings.hpp"

namespace nearfield::daemon {

/// Decides what is dropped while the engine is behind: dashboards first, then hops, and recordings last, since their
/// bits cannot be recorded again. If pause_recordings_ms is at most shed_hops_ms, recordings are dropped before hops.
///
/// The criterion is a frame's lateness: the age of its last bit when it was published. A pause lasts until the lateness
/// has been below its limit for kReliefNs. Hops are shed from the moment that the lateness exceeds shed_hops_ms, or has
/// exceeded pause_dashboards_ms for kReliefNs without a break: whenever more than pause_dashboards_ms of hops wait, all
/// but the newest are dropped. That ends once nothing had to be shed for kReliefNs. After any overload, operation is
/// thus normal again within 2 x kReliefNs = 80 ms of relief.
class Overload {
 public:
  static constexpr std::int64_t kReliefNs = 40'000'000;

  explicit Overload(const DaemonSettings::Overload& limits) { set_limits(limits); }
  void set_limits(const DaemonSettings::Overload& limits);

  /// Called after a frame was published, `lateness_ns` old.
  void published(std::int64_t lateness_ns, std::int64_t now_ns);
  /// Called after hops were shed to reach the newest one.
  void shed(std::int64_t now_ns) { shedding_until_ns_ = now_ns + kReliefNs; }

  [[nodiscard]] bool pauses_dashboards(std::int64_t now_ns) const { return now_ns < dashboards_until_ns_; }
  [[nodiscard]] bool pauses_recordings(std::int64_t now_ns) const { return now_ns < recordings_until_ns_; }
  /// True if the next frame must be the newest of the waiting ones, which span `waiting_ns`.
  [[nodiscard]] bool sheds(std::int64_t waiting_ns, std::int64_t now_ns) const {
    return is_shedding(now_ns) && waiting_ns > dashboards_ns_;
  }

 private:
  [[nodiscard]] bool is_shedding(std::int64_t now_ns) const { return now_ns < shedding_until_ns_; }

  std::int64_t dashboards_ns_ = 0;
  std::int64_t recordings_ns_ = 0;
  std::int64_t shed_ns_ = 0;
  std::int64_t behind_since_ns_ = 0;  ///< 0: not behind
  std::int64_t dashboards_until_ns_ = 0;
  std::int64_t recordings_until_ns_ = 0;
  std::int64_t shedding_until_ns_ = 0;
};

/// Measures the rate at which elements of a live stream arrive, by this host's clock.
///
/// Data of a sender that keeps time can only arrive late, never early: for each segment of time, the element that
/// arrived with the least delay counts. The rate is known when the three slopes between four segments agree; a sender
/// that catches up or that lacks processor time gives slopes that do not, and the next segments are longer.
class RateMeter {
 public:
  /// Smaller differences are deviations of clocks.
  static constexpr double kTolerance = 0.005;

  explicit RateMeter(double announced_hz) : announced_hz_(announced_hz) {}

  /// Adds that `elements` of stream number `stream` had arrived at `arrived_ns`; a repeated time is ignored.
  void add(std::uint64_t stream, std::uint64_t elements, std::int64_t arrived_ns);
  /// Rate of this stream when slopes last agreed; nullopt before.
  [[nodiscard]] std::optional<double> measured_hz() const { return measured_hz_; }
  /// The rate since the stream's first segment, whose error falls with its length; nullopt before measured_hz().
  [[nodiscard]] std::optional<double> long_term_hz() const;
  /// True if the measured rate differs from the announced rate, and is near enough to be real time.
  [[nodiscard]] bool differs() const;

 private:
  struct Point {
    std::uint64_t elements = 0;
    std::int64_t arrived_ns = 0;
  };
  void restart();
  void end_segment();
  [[nodiscard]] static double slope_hz(const Point& from, const Point& to);
  [[nodiscard]] double lateness_ns(const Point& point) const;

  double announced_hz_;
  std::uint64_t stream_ = 0;
  std::int64_t segment_ns_ = kShortestSegmentNs;
  std::int64_t begun_ns_ = 0;   ///< begin of the segment; 0: none has begun
  std::optional<Point> least_;  ///< least late element of the segment
  Point newest_;
  std::vector<Point> segments_;  ///< the least late element of each, at most four
  std::optional<Point> first_;   ///< the least late element of the first segment since a pause
  std::optional<double> measured_hz_;

  static constexpr std::int64_t kShortestSegmentNs = 1'500'000'000;
};

}  // namespace nearfield::daemon
