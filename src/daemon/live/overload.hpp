#pragma once
#include <cstdint>

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

}  // namespace nearfield::daemon
