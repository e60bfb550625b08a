#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "core/daemon_settings.hpp"
#include "frontend/popcount/settings.hpp"

namespace nearfield {
namespace {

TEST(Changes, NamesKeysWithTheirValuesBeforeAndAfter) {
  const Settings before;
  EXPECT_THAT(changes(before, before), testing::IsEmpty());
  Settings after;
  after.holography.standoff_m = 0.04;
  after.front_end.own.edit<PopcountSettings>().order = 2;
  after.front_end.frequencies_hz = {500.0};
  after.daemon->publish.ring.socket = "/a b";
  EXPECT_THAT(
      changes(before, after),
      testing::ElementsAre("front_end.frequencies_hz [1007.08, 2014.16] -> [500]", "front_end.popcount.order 1 -> 2",
                           "holography.standoff_m 0.03 -> 0.04", "daemon.publish.ring.socket \"auto\" -> \"/a b\""));
}

TEST(Changes, KnowWhatARunningDaemonCannotFollow) {
  const Settings before;
  Settings after;
  after.holography.standoff_m = 0.04;
  after.daemon->recording.max_s = 7.0;
  after.daemon->log.level = DaemonSettings::LogLevel::kDebug;
  EXPECT_THAT(changes_at_restart(before, after), testing::IsEmpty());
  after.array.geometry.rows = 8;
  after.array.geometry.columns = 8;
  after.array.layout = WireLayout::kRowMajor;
  after.daemon->source.loop = true;
  after.daemon->source.pace = DaemonSettings::Pace::kFast;
  after.daemon->publish.zmq.max_rate_hz = 1.0;
  after.daemon->control.access.allowed_users = {"1001"};
  after.daemon->metrics.address = "";
  after.daemon->realtime.priority = 7;
  after.daemon->log.target = DaemonSettings::LogTarget::kStderr;
  after.daemon->no_input.is_fault = true;
  EXPECT_THAT(changes_at_restart(before, after),
              testing::ElementsAre("array.rows", "array.columns", "array.layout", "daemon.source", "daemon.publish",
                                   "daemon.control", "daemon.metrics", "daemon.realtime", "daemon.log.target",
                                   "daemon.no_input"));
}

}  // namespace
}  // namespace nearfield
