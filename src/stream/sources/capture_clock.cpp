#include "stream/sources/capture_clock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/system/clocks.hpp"

namespace nearfield {
namespace {

/// Time between two deliveries that no delay makes.
constexpr double kUnsaid_s = 0.1;
/// Lateness of a second's earliest delivery, over that of the seconds before, that no load makes.
constexpr double kLate_s = 4e-3;
/// Earliness likewise that is no chance.
constexpr double kEarly_s = 1e-3;
/// Most that a device's clock is slow, s per s.
constexpr double kSlow = 1e-3;

}  // namespace

/// Delay of the earliest delivery of the present second if nothing is lost: on the line through the earliest ones of
/// both halves of the past, or, while that is short, what the slowest clock makes of it.
double CaptureClock::expected_s() const {
  const std::size_t known = std::min(seconds_, kSeconds);
  const auto earliest_of = [this](std::size_t from_age, std::size_t to_age, double slow) {
    double earliest_s = std::numeric_limits<double>::infinity();
    for (std::size_t age = from_age; age <= to_age; ++age) {
      earliest_s = std::min(earliest_s, past_s_[(seconds_ - age) % kSeconds] + slow * static_cast<double>(age));
    }
    return earliest_s;
  };
  constexpr std::size_t kHalf = kSeconds / 2;
  if (known < kSeconds) {
    return earliest_of(1, known, kSlow);
  }
  const double late_s = earliest_of(1, kHalf, 0.0);
  const double slow = std::clamp((late_s - earliest_of(kHalf + 1, kSeconds, 0.0)) / kHalf, -kSlow, kSlow);
  return earliest_of(1, kHalf, slow);
}

void CaptureClock::end_second(std::int64_t now_ns) {
  const double late_s = seconds_ > 0 ? earliest_s_ - expected_s() : 0.0;
  if (late_s > kLate_s) {
    found_ = static_cast<std::uint64_t>(std::llround(late_s * sample_rate_hz_));
    earliest_s_ -= late_s;
  } else if (late_s < -kEarly_s) {  // the past was late, or more was taken for missing than is
    for (double& one_s : past_s_) {
      one_s += late_s;
    }
  }
  past_s_[seconds_++ % kSeconds] = earliest_s_;
  earliest_s_ = std::numeric_limits<double>::infinity();
  second_ns_ = now_ns;
}

std::uint64_t CaptureClock::lost_before(std::uint64_t count, std::int64_t newest_ns, bool follows_an_overrun) {
  const auto duration_s = [this](std::uint64_t samples) { return static_cast<double>(samples) / sample_rate_hz_; };
  if (first_ns_ == 0) {
    first_ns_ = newest_ns - std::llround(duration_s(count) * static_cast<double>(kNsPerSecond));
    newest_ns_ = first_ns_;
    second_ns_ = newest_ns;
  }
  const double gap_s = static_cast<double>(newest_ns - newest_ns_) * kSecondsPerNs - duration_s(count);
  std::uint64_t lost = std::exchange(found_, 0);
  if (follows_an_overrun || gap_s >= kUnsaid_s) {
    lost +=
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(std::max(gap_s, 0.0) * sample_rate_hz_)));
  }
  newest_ns_ = newest_ns;
  samples_ += lost + count;
  earliest_s_ =
      std::min(earliest_s_, static_cast<double>(newest_ns - first_ns_) * kSecondsPerNs - duration_s(samples_));
  if (newest_ns - second_ns_ >= kNsPerSecond) {
    end_second(newest_ns);
  }
  return lost;
}

}  // namespace nearfield
