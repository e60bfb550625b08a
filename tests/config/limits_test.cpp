#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "config/written_file.hpp"
#include "core/daemon_settings.hpp"

namespace nearfield {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Limit = DaemonSettings::Limit;

std::vector<std::string> refusals_of(const std::string& limit) {
  return error_lines("daemon: {limits: {a: {" + limit + "}}}",
                     [](const std::string& path) { (void)load_settings(path, {}); });
}

TEST(Limits, AreReadAndWrittenUnderTheirNames) {
  const WrittenFile file(
      "daemon:\n"
      "  recording: {trigger: limit}\n"
      "  limits:\n"
      "    weld: {point_m: [0.1, -0.06], frequency_hz: 1007, above_db: 94, record: true}\n"
      "    left: {region_m: [-0.3, -0.3, 0, 0.3], plane_m: 0, statistic: mean, above: -0.5, hysteresis_db: 6,\n"
      "           hold_s: 0.5, release_s: 2}\n");
  const Settings settings = load_settings(file.path(), {"daemon.limits.left.hold_s=1", "daemon.limits.third.above=2"});
  const std::vector<Limit>& limits = settings.daemon->limits;
  ASSERT_EQ(limits.size(), 3U);
  EXPECT_EQ(limits[0], (Limit{.name = "weld",
                              .point_m = std::vector<double>{0.1, -0.06},
                              .frequency_hz = 1007.0,
                              .above_db = 94.0,
                              .record = true}));
  EXPECT_EQ(limits[1], (Limit{.name = "left",
                              .region_m = std::vector<double>{-0.3, -0.3, 0.0, 0.3},
                              .plane_m = 0.0,
                              .statistic = DaemonSettings::Statistic::kMean,
                              .above = -0.5,
                              .hysteresis_db = 6.0,
                              .hold_s = 1.0,
                              .release_s = 2.0}));
  const WrittenFile again(to_yaml(settings));
  EXPECT_EQ(*load_settings(again.path(), {}).daemon, *settings.daemon);
}

TEST(Limits, WhatCannotHoldIsRefused) {
  EXPECT_THAT(refusals_of("frequency_hz: 100"),
              ElementsAre(HasSubstr("daemon.limits.a: expected either above or above_db, found neither")));
  EXPECT_THAT(refusals_of("above: 1, above_db: 1"), ElementsAre(HasSubstr("found both")));
  EXPECT_THAT(refusals_of("above: 1, point_m: [1]"),
              ElementsAre(HasSubstr("daemon.limits.a.point_m: expected a list of two, x and y")));
  EXPECT_THAT(refusals_of("above: 1, region_m: [0, 0, -1, 1]"),
              ElementsAre(HasSubstr("daemon.limits.a.region_m: expected x0, y0, x1 and y1 with x0 at most x1")));
  EXPECT_THAT(refusals_of("above: 1, region_m: [0, 0, 1, 1], point_m: [0, 0]"),
              ElementsAre(HasSubstr("daemon.limits.a: expected point_m, region_m or neither, found both")));
  EXPECT_THAT(refusals_of("above: 1, processor: far"),
              ElementsAre(HasSubstr("daemon.limits.a.processor: expected surface or a processor of the section "
                                    "processors, found \"far\"")));
  const std::vector<std::string> without_images =
      error_lines("holography: {imager: none}\nprocessors: {far: {kind: beamform}}\ndaemon: {limits: {a: {above: 1}}}",
                  [](const std::string& path) { (void)load_settings(path, {}); });
  EXPECT_THAT(without_images,
              ElementsAre(HasSubstr("daemon.limits.a.processor: expected a processor of the section processors, found "
                                    "\"surface\"")));
  EXPECT_THAT(refusals_of("above: 1, product: sources, column: level_db, statistic: mean"),
              ElementsAre(HasSubstr("daemon.limits.a.statistic: expected max beside column")));
  EXPECT_THAT(
      refusals_of("above: 1, record: true"),
      ElementsAre(HasSubstr("daemon.limits.a.record: true expects daemon.recording.trigger: limit, found none")));
  EXPECT_THAT(refusals_of("above: 1, hold: 1"), ElementsAre(HasSubstr("daemon.limits.a.hold: unknown key")));
  const std::vector<std::string> none = error_lines("daemon: {recording: {trigger: limit}}",
                                                    [](const std::string& path) { (void)load_settings(path, {}); });
  EXPECT_THAT(none, ElementsAre(HasSubstr("limit expects one of daemon.limits with record: true, found none")));
  const std::vector<std::string> folder =
      error_lines("daemon: {recording: {trigger: limit, directory: null}, limits: {a: {above: 1, record: true}}}",
                  [](const std::string& path) { (void)load_settings(path, {}); });
  EXPECT_THAT(folder, ElementsAre(HasSubstr("daemon.recording.directory: expected a folder, as "
                                            "daemon.recording.trigger is limit, found nothing")));
  const std::vector<std::string> name = error_lines("daemon: {limits: {A-b: {above: 1}}}",
                                                    [](const std::string& path) { (void)load_settings(path, {}); });
  EXPECT_THAT(name, ElementsAre(HasSubstr("daemon.limits.A-b: expected a name of at most 31")));
}

}  // namespace
}  // namespace nearfield
