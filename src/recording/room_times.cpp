#include "recording/room_times.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace nearfield {
namespace {

std::int64_t ns_of(double seconds) {
  constexpr double kMost_s = 9e9;  // 285 years
  return static_cast<std::int64_t>(std::min(seconds, kMost_s) * static_cast<double>(kNsPerSecond));
}

}  // namespace

RoomTimes::RoomTimes(RoomClocks clocks)
    : clocks_(std::move(clocks)), offset_ns_(clocks_.realtime_ns() - clocks_.boottime_ns()) {}

void RoomTimes::finished(const std::filesystem::path& path) {
  finished_.push_back({.boottime_ns = clocks_.boottime_ns(), .path = path});
  if (finished_.size() > kMostFinished) {
    finished_.pop_front();
  }
}

std::optional<RoomTime> RoomTimes::now(double max_age_s) {
  const std::int64_t boottime_ns = clocks_.boottime_ns();
  RoomTime time{.now_ns = clocks_.realtime_ns(), .young = {}};
  const std::int64_t offset_ns = time.now_ns - boottime_ns;
  if (std::abs(offset_ns - offset_ns_) > kStepNs) {
    stepped_ns_ = boottime_ns;
  }
  offset_ns_ = offset_ns;
  const std::int64_t max_age_ns = ns_of(max_age_s);
  const bool holds = stepped_ns_ && boottime_ns - *stepped_ns_ < std::min(kHoldNs, max_age_ns);
  if (boottime_ns < kSettleNs || holds) {
    return std::nullopt;
  }
  for (const Finished& one : finished_) {
    if (boottime_ns - one.boottime_ns < max_age_ns) {
      time.young.insert(one.path);
    }
  }
  return time;
}

}  // namespace nearfield
