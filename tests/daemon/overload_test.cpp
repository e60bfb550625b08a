#include <gtest/gtest.h>

#include "core/daemon_settings.hpp"
#include "daemon/live/rates.hpp"

namespace nearfield::daemon {
namespace {

constexpr std::int64_t kMs = 1'000'000;

DaemonSettings::Overload limits() {
  return {.pause_dashboards_ms = 10.0, .pause_recordings_ms = 500.0, .shed_hops_ms = 50.0};
}

TEST(Overload, ItsDefaultsAreThoseOfTheseTests) { EXPECT_TRUE(DaemonSettings::Overload{} == limits()); }

// Bits of a recording cannot be recorded again: hops are dropped first.
TEST(Overload, GivesUpDashboardsThenHopsAndRecordingsLast) {
  Overload overload(limits());
  overload.published(51 * kMs, 1000 * kMs);
  EXPECT_TRUE(overload.pauses_dashboards(1000 * kMs));
  EXPECT_TRUE(overload.sheds(51 * kMs, 1000 * kMs));
  EXPECT_FALSE(overload.pauses_recordings(1000 * kMs));
  overload.published(499 * kMs, 1001 * kMs);
  EXPECT_FALSE(overload.pauses_recordings(1001 * kMs));
  overload.published(501 * kMs, 1002 * kMs);
  EXPECT_TRUE(overload.pauses_recordings(1002 * kMs));
}

TEST(Overload, GivesUpRecordingsBeforeHopsWhereTheLimitsSaySo) {
  Overload overload({.pause_dashboards_ms = 10.0, .pause_recordings_ms = 25.0, .shed_hops_ms = 50.0});
  overload.published(9 * kMs, 1000 * kMs);
  EXPECT_FALSE(overload.pauses_dashboards(1000 * kMs));
  overload.published(11 * kMs, 1001 * kMs);
  EXPECT_TRUE(overload.pauses_dashboards(1001 * kMs));
  EXPECT_FALSE(overload.pauses_recordings(1001 * kMs));
  overload.published(26 * kMs, 1002 * kMs);
  EXPECT_TRUE(overload.pauses_recordings(1002 * kMs));
  EXPECT_FALSE(overload.sheds(26 * kMs, 1002 * kMs));
  overload.published(51 * kMs, 1003 * kMs);
  EXPECT_TRUE(overload.sheds(51 * kMs, 1003 * kMs));
  EXPECT_FALSE(overload.sheds(9 * kMs, 1003 * kMs)) << "few hops wait: they are computed";
}

TEST(Overload, DoesNotStayALittleBehindForLong) {
  Overload overload(limits());
  for (std::int64_t ms = 0; ms <= 39; ++ms) {
    overload.published(20 * kMs, (1000 + ms) * kMs);
    ASSERT_FALSE(overload.sheds(20 * kMs, (1000 + ms) * kMs)) << ms;
  }
  overload.published(20 * kMs, 1042 * kMs);
  EXPECT_TRUE(overload.sheds(20 * kMs, 1042 * kMs));
}

TEST(Overload, IsOverWithin100MsOfRelief) {
  Overload overload(limits());
  overload.published(80 * kMs, 1000 * kMs);
  overload.shed(1001 * kMs);  // relief: nothing waits any more
  for (std::int64_t ms = 1002; ms <= 1100; ++ms) {
    overload.published(1 * kMs, ms * kMs);
  }
  EXPECT_FALSE(overload.sheds(60 * kMs, 1100 * kMs));
  EXPECT_FALSE(overload.pauses_dashboards(1100 * kMs));
  EXPECT_FALSE(overload.pauses_recordings(1100 * kMs));
}

}  // namespace
}  // namespace nearfield::daemon
