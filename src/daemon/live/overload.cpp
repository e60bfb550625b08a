#include "daemon/live/overload.hpp"

#include <algorithm>

#include "core/daemon_settings.hpp"
#include "core/system/clocks.hpp"

namespace nearfield::daemon {

void Overload::set_limits(const DaemonSettings::Overload& limits) {
  dashboards_ns_ = nanoseconds(limits.pause_dashboards_ms);
  recordings_ns_ = nanoseconds(limits.pause_recordings_ms);
  shed_ns_ = nanoseconds(limits.shed_hops_ms);
}

void Overload::published(std::int64_t lateness_ns, std::int64_t now_ns) {
  const std::int64_t until_ns = now_ns + kReliefNs;
  if (lateness_ns <= dashboards_ns_) {
    behind_since_ns_ = 0;
  } else if (behind_since_ns_ == 0) {
    behind_since_ns_ = now_ns;
  }
  const bool behind_too_long = behind_since_ns_ != 0 && now_ns - behind_since_ns_ > kReliefNs;
  if (lateness_ns > shed_ns_ || behind_too_long) {
    shedding_until_ns_ = until_ns;
  }
  const bool shedding = is_shedding(now_ns);
  if (lateness_ns > dashboards_ns_ || shedding) {
    dashboards_until_ns_ = std::max(until_ns, shedding_until_ns_);
  }
  const bool recordings_go_before_hops = recordings_ns_ <= shed_ns_;
  if (lateness_ns > recordings_ns_ || (shedding && recordings_go_before_hops)) {
    recordings_until_ns_ = std::max(until_ns, shedding_until_ns_);
  }
}

}  // namespace nearfield::daemon
