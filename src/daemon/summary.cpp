#include "daemon/summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/system/clocks.hpp"
#include "daemon/live/accounts.hpp"

namespace nearfield::daemon {
namespace {

nlohmann::json percentiles_ms(const control::LatencyCounts& counts, std::int64_t largest_ns) {
  nlohmann::json out = control::percentiles_ms(counts);
  out["max"] = 1e3 * kSecondsPerNs * static_cast<double>(largest_ns);
  return out;
}

}  // namespace

void Summary::add(const FrameReport& report) {
  const std::int64_t age_ns = report.out_mono_ns - report.capture_mono_ns;
  ages_.record(age_ns);
  oldest_ns_ = std::max(oldest_ns_, age_ns);
  if (frames_ == 0) {
    first_ns_ = report.out_mono_ns;
    first_sequence_ = report.sequence - report.shed_hops;
  } else {
    const std::int64_t interval_ns = report.out_mono_ns - last_ns_;
    intervals_.record(interval_ns);
    longest_interval_ns_ = std::max(longest_interval_ns_, interval_ns);
  }
  last_ns_ = report.out_mono_ns;
  last_sequence_ = report.sequence;
  shed_hops_ += report.shed_hops;
  absent_hops_ += report.absent_hops;
  flagged_ += report.missing > 0 ? 1 : 0;
  ++frames_;
}

nlohmann::json Summary::json(const SourceCounters& source, double hop_rate_hz) const {
  const RingCounters& ring = source.ring;
  const Conservation sums = conservation(ring);
  const double span_s = kSecondsPerNs * static_cast<double>(last_ns_ - first_ns_);
  const std::uint64_t hops = frames_ == 0 ? 0 : last_sequence_ - first_sequence_ + 1;
  const bool ring_balances =
      ring.received == ring.delivered + ring.overrun + ring.skipped + ring.abandoned + ring.pending;
  return {
      {"frames", frames_},
      {"span_s", span_s},
      {"frame_rate_hz", frames_ > 1 ? static_cast<double>(frames_ - 1) / span_s : 0.0},
      {"hop_rate_hz", hop_rate_hz},
      {"interval_ms", percentiles_ms(intervals_.read(), longest_interval_ns_)},
      {"age_ms", percentiles_ms(ages_.read(), oldest_ns_)},
      {"shed_hops", shed_hops_},
      {"absent_hops", absent_hops_},
      {"frames_with_missing", flagged_},
      {"bit_times",
       {{"received", sums.received},
        {"missing", sums.missing},
        {"expected", sums.expected},
        {"overrun", ring.overrun},
        {"skipped", ring.skipped},
        {"abandoned", ring.abandoned},
        {"late", ring.late},
        {"duplicate", ring.duplicate},
        {"pending", ring.pending}}},
      {"packets",
       {{"datagrams", source.packets.datagrams},
        {"kernel_drops", source.kernel_drops},
        {"other_stream", source.packets.other_stream},
        {"implausible", source.packets.implausible},
        {"not_allowed", source.packets.not_allowed},
        {"restarts", source.packets.restarts}}},
      {"conserved", ring_balances && sums.received + sums.missing == sums.expected && hops == frames_ + shed_hops_}};
}

}  // namespace nearfield::daemon
