#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "daemon/daemon_support.hpp"
#include "daemon/device_check.hpp"

namespace nearfield::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kGigabyte = 1e9;

TEST(MemoryNeed, OfAnArmedRecorderIsItsHistory) {
  Settings settings = test::small_settings();
  settings.daemon->recording.trigger = DaemonSettings::Trigger::kExternal;
  settings.daemon->recording.pre_trigger_s = 60.0;
  const std::vector<MemoryNeed> needs = needs_of_epoch(settings);
  EXPECT_EQ(needs.back().key, "daemon.recording.pre_trigger_s");
  EXPECT_DOUBLE_EQ(needs.back().host_bytes, 60.0 * 1.5e6 * 8.0) << "two words a bit-time";
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 0.5 * kGigabyte}),
              ElementsAre(HasSubstr("daemon.recording.pre_trigger_s: expected what fits into the 500 MB of memory that "
                                    "is free here, found a history of 60 s, 720 MB")));
  EXPECT_THAT(memory_problems(needs, {.host_bytes = kGigabyte}), IsEmpty());
  settings.daemon->recording.trigger = DaemonSettings::Trigger::kNone;
  EXPECT_EQ(needs_of_epoch(settings).size(), 1U);
}

TEST(MemoryNeed, OfAProcessorIsItsMachines) {
  const std::vector<MemoryNeed> needs = {{.key = "a", .what = "one", .host_bytes = 3.0, .device_bytes = 4.0},
                                         {.key = "b", .what = "two", .host_bytes = 2.0, .device_bytes = 6.0}};
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 15.0}), IsEmpty());
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 14.0}), ElementsAre(HasSubstr("b: expected")));
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 5.0, .device_bytes = 10.0}), IsEmpty());
  EXPECT_THAT(
      memory_problems(needs, {.host_bytes = 4.0, .device_bytes = 9.0}),
      ElementsAre(HasSubstr("b: expected what fits into the 9 bytes of memory of the device, found two, 6 bytes"),
                  HasSubstr("a: expected what fits into the 4 bytes of memory that is free here")));
  EXPECT_THROW(require_memory(needs, {.host_bytes = 1.0}), ConfigError);
}

// A device with memory of its own holds what is its; the others' is this machine's.
TEST(MemoryNeed, OfAProcessorElsewhereIsItsDevices) {
  const std::vector<MemoryNeed> needs = {
      {.key = "a", .what = "one", .host_bytes = 3.0, .device_bytes = 4.0},
      {.key = "b", .what = "two", .host_bytes = 2.0, .device_bytes = 6.0, .device = 1}};
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 9.0, .device_bytes = {}, .other_devices = {6.0}}), IsEmpty());
  EXPECT_THAT(memory_problems(needs, {.host_bytes = 8.0, .device_bytes = {}, .other_devices = {6.0}}),
              ElementsAre(HasSubstr("a: expected what fits into the 8 bytes of memory that is free here")));
  EXPECT_THAT(
      memory_problems(needs, {.host_bytes = 5.0, .device_bytes = 4.0, .other_devices = {5.0}}),
      ElementsAre(HasSubstr("b: expected what fits into the 5 bytes of memory of its device, found two, 6 bytes")));
  Settings settings = test::small_settings();
  settings.processors.resize(2);
  EXPECT_EQ(needs_of_epoch(settings, {0, 1}).at(2).device, 1U);
}

TEST(MemoryNeed, OfASourceIsItsRing) {
  Settings settings = test::small_settings();
  settings.daemon->source.ring_bit_times = 1 << 20;
  EXPECT_DOUBLE_EQ(needs_of_source(settings).front().host_bytes, 8.0 * (1 << 20));
  settings.daemon->source.kind = DaemonSettings::SourceKind::kFile;
  EXPECT_THAT(needs_of_source(settings), IsEmpty());
}

}  // namespace
}  // namespace nearfield::daemon
