#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "daemon/live/rates.hpp"

namespace nearfield::daemon {
namespace {

constexpr double kSecond = 1e9;

/// What a meter says after `seconds` of a sender that has sent `elements_at(t)` until second t, heard every 20 ms with
/// the delay `delay_s()`.
RateMeter heard(double announced_hz, double seconds, const std::function<double(double)>& elements_at,
                const std::function<double()>& delay_s) {
  RateMeter meter(announced_hz);
  double before_s = 0.0;
  for (double t = 0.02; t < seconds; t += 0.02) {
    const double arrived_s = std::max(t + delay_s(), before_s);  // in the order in which it was sent
    before_s = arrived_s;
    meter.add(1, static_cast<std::uint64_t>(elements_at(t)), static_cast<std::int64_t>(kSecond * (1000.0 + arrived_s)));
  }
  return meter;
}

/// Delays as of a busy machine: exponential, `mean_s`.
std::function<double()> busy(double mean_s, unsigned seed = 1) {
  return [mean_s, random = std::mt19937(seed)]() mutable {
    return std::exponential_distribution<double>(1.0 / mean_s)(random);
  };
}

std::function<double(double)> at_rate(double rate_hz) {
  return [rate_hz](double t) { return rate_hz * t; };
}

// 48,000 a second, announced as 46,875, is 2.4 %: named within eight seconds, to a part in a thousand.
TEST(RateMeter, MeasuresASoundCardThatIsAnnouncedWrongly) {
  const RateMeter meter = heard(46'875.0, 8.0, at_rate(48'000.0), busy(0.001));
  EXPECT_TRUE(meter.differs());
  EXPECT_NEAR(meter.measured_hz().value(), 48'000.0, 48.0);
  EXPECT_FALSE(heard(48'000.0, 8.0, at_rate(48'000.0), busy(0.001)).differs());
}

// A clock that is 100 ppm off, heard with delays of a millisecond: within 5 ppm after a minute.
TEST(RateMeter, TheLongTermRateTellsADriftOfClocks) {
  constexpr double kDrift = 100e-6;
  constexpr double kWithin = 5e-6;
  const RateMeter meter = heard(48'000.0, 60.0, at_rate(48'000.0 * (1.0 + kDrift)), busy(0.001));
  ASSERT_TRUE(meter.long_term_hz());
  EXPECT_NEAR(*meter.long_term_hz() / 48'000.0 - 1.0, kDrift, kWithin);
  EXPECT_FALSE(meter.differs());
}

// Twice, half, and another number of channels; a clock's own error is none.
TEST(RateMeter, JudgesByTheRatio) {
  for (const double ratio : {2.0, 0.5, 16.0 / 15.0, 15.0 / 16.0, 3.0, 8.0, 0.125, 1.006, 0.994}) {
    EXPECT_TRUE(heard(48'000.0, 10.0, at_rate(48'000.0 * ratio), busy(0.0005)).differs()) << ratio;
  }
  for (const double ratio : {1.0, 1.001, 0.999, 1.004, 100.0}) {
    EXPECT_FALSE(heard(48'000.0, 10.0, at_rate(48'000.0 * ratio), busy(0.0005)).differs()) << ratio;
  }
}

// Delays of hundreds of milliseconds move no verdict: what was heard without delay counts.
TEST(RateMeter, IsNotMisledByABusyMachine) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    for (const double mean_s : {0.01, 0.05, 0.3}) {
      EXPECT_FALSE(heard(48'000.0, 60.0, at_rate(48'000.0), busy(mean_s, seed)).differs()) << mean_s << " " << seed;
    }
    EXPECT_TRUE(heard(46'875.0, 60.0, at_rate(48'000.0), busy(0.02, seed)).differs()) << seed;
  }
}

// A sender that lacks processor time, or catches up at its start, keeps no rate.
TEST(RateMeter, SaysNothingOfASenderThatKeepsNoTime) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    double t_of_turn = 0.0;
    double share = 1.0;
    double slow_sent = 0.0;
    const auto uneven = [&](double t) {
      if (t > t_of_turn) {
        t_of_turn = t + 0.7;
        share = std::uniform_real_distribution<double>(0.5, 1.0)(random);
      }
      return slow_sent += 960.0 * share;
    };
    const auto catches_up = [](double t) { return 48'000.0 * (t < 2.0 ? 3.0 * t : 6.0 + (t - 2.0)); };
    EXPECT_FALSE(heard(48'000.0, 30.0, uneven, busy(0.005, seed)).differs()) << seed;
    EXPECT_FALSE(heard(48'000.0, 30.0, catches_up, busy(0.005, seed)).differs()) << seed;
  }
}

TEST(RateMeter, BeginsAnewWithAStreamAndAfterAPause) {
  RateMeter meter = heard(46'875.0, 8.0, at_rate(48'000.0), busy(0.001));
  ASSERT_TRUE(meter.differs());
  meter.add(2, 100, static_cast<std::int64_t>(1020.0 * kSecond));
  EXPECT_FALSE(meter.measured_hz());
  EXPECT_FALSE(meter.differs());
}

}  // namespace
}  // namespace nearfield::daemon
