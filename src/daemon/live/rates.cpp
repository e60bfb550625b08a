#include "daemon/live/rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>

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

namespace {

constexpr std::int64_t kLongestSegmentNs = 12'000'000'000;
constexpr std::size_t kSegments = 4;
/// Pause after which a measurement restarts: the sender stood still.
constexpr std::int64_t kPauseNs = kNsPerSecond;
/// Slopes of a sender that keeps time agree within some ms of delay per segment.
constexpr double kSteady = 0.003;
/// Beyond this ratio the stream is not in real time, such as a file that is copied into a pipe.
constexpr double kMostRatio = 40.0;

}  // namespace

void RateMeter::restart() {
  segments_.clear();
  first_.reset();
  least_.reset();
  begun_ns_ = 0;
  segment_ns_ = kShortestSegmentNs;
}

double RateMeter::lateness_ns(const Point& point) const {
  return static_cast<double>(point.arrived_ns - begun_ns_) - 1e9 * static_cast<double>(point.elements) / announced_hz_;
}

void RateMeter::add(std::uint64_t stream, std::uint64_t elements, std::int64_t arrived_ns) {
  if (stream != stream_) {
    stream_ = stream;
    measured_hz_.reset();
    restart();
  } else if (arrived_ns == newest_.arrived_ns) {
    return;
  } else if (arrived_ns - newest_.arrived_ns > kPauseNs) {
    restart();
  }
  newest_ = {.elements = elements, .arrived_ns = arrived_ns};
  begun_ns_ = begun_ns_ == 0 ? arrived_ns : begun_ns_;
  if (!least_ || lateness_ns(newest_) < lateness_ns(*least_)) {
    least_ = newest_;
  }
  if (arrived_ns - begun_ns_ >= segment_ns_) {
    end_segment();
    begun_ns_ = arrived_ns;
  }
}

double RateMeter::slope_hz(const Point& from, const Point& to) {
  return 1e9 * (static_cast<double>(to.elements) - static_cast<double>(from.elements)) /
         static_cast<double>(std::max<std::int64_t>(to.arrived_ns - from.arrived_ns, 1));
}

std::optional<double> RateMeter::long_term_hz() const {
  return measured_hz_ && first_ && !segments_.empty() ? std::optional(slope_hz(*first_, segments_.back()))
                                                      : std::nullopt;
}

void RateMeter::end_segment() {
  segments_.push_back(*least_);
  first_ = first_ ? first_ : least_;
  least_.reset();
  if (segments_.size() < kSegments) {
    return;
  }
  const double mean_hz = slope_hz(segments_.front(), segments_.back());
  bool is_steady = mean_hz > 0.0;
  for (std::size_t i = 1; i < segments_.size(); ++i) {
    is_steady = is_steady && std::abs(slope_hz(segments_[i - 1], segments_[i]) / mean_hz - 1.0) <= kSteady;
  }
  if (is_steady) {
    measured_hz_ = mean_hz;
    segments_.erase(segments_.begin());
  } else {
    segments_.erase(segments_.begin(), segments_.end() - 1);
    segment_ns_ = std::min(2 * segment_ns_, kLongestSegmentNs);
  }
}

bool RateMeter::differs() const {
  const double ratio = measured_hz_.value_or(announced_hz_) / announced_hz_;
  return std::abs(ratio - 1.0) > kTolerance && ratio < kMostRatio && ratio > 1.0 / kMostRatio;
}

}  // namespace nearfield::daemon
