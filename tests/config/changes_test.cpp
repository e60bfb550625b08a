#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace nearfield {
namespace {

TEST(Changes, NamesKeysWithTheirValuesBeforeAndAfter) {
  const Settings before;
  EXPECT_THAT(changes(before, before), testing::IsEmpty());
  Settings after;
  after.holography.standoff_m = 0.04;
  after.front_end.popcount.order = 2;
  after.front_end.frequencies_hz = {500.0};
  after.daemon.publish.ring.socket = "/a b";
  EXPECT_THAT(
      changes(before, after),
      testing::ElementsAre("front_end.frequencies_hz [1007.08, 2014.16] -> [500]", "front_end.popcount.order 1 -> 2",
                           "holography.standoff_m 0.03 -> 0.04", "daemon.publish.ring.socket \"auto\" -> \"/a b\""));
}

}  // namespace
}  // namespace nearfield
