#include "page/player.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"

/// What may be asked of recordings that the page opens.
namespace nearfield::page {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string refusal_of_settings(const std::vector<std::string>& settings) {
  try {
    require_player_settings(settings);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_request(const json& message) {
  try {
    (void)player_request_of(message);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PlayerRequest, IsReadWhole) {
  const PlayerRequest request = player_request_of({{"op", "open"},
                                                   {"recording", "take.nfr"},
                                                   {"settings", {"holography.standoff_m=0.04"}},
                                                   {"start_s", 0},
                                                   {"seconds", 2.5}});
  EXPECT_EQ(request.recording, "take.nfr");
  EXPECT_THAT(request.settings, testing::ElementsAre("holography.standoff_m=0.04"));
  EXPECT_EQ(request.start_s, 0.0);
  EXPECT_EQ(request.seconds, 2.5);
  EXPECT_FALSE(player_request_of({{"recording", "take.nfr"}}).seconds);
}

TEST(PlayerRequest, NamesNoPath) {
  for (const char* name : {"", "/etc/passwd", "../take.nfr", "sub/take.nfr"}) {
    EXPECT_THAT(refusal_of_request({{"recording", name}}), HasSubstr("without a path")) << name;
  }
  EXPECT_THAT(refusal_of_request({{"recording", 1}}), HasSubstr("without a path"));
}

TEST(PlayerRequest, HasTimesAndTexts) {
  EXPECT_THAT(refusal_of_request({{"recording", "a"}, {"seconds", 0}}), HasSubstr("seconds: expected"));
  EXPECT_THAT(refusal_of_request({{"recording", "a"}, {"start_s", -1}}), HasSubstr("start_s: expected"));
  EXPECT_THAT(refusal_of_request({{"recording", "a"}, {"start_s", "1"}}), HasSubstr("start_s: expected"));
  EXPECT_THAT(refusal_of_request({{"recording", "a"}, {"settings", {1}}}), HasSubstr("settings: expected"));
}

// Whatever spells the section of the daemon, or an option of the command line.
TEST(PlayerSettings, AreOfTheProcessingAlone) {
  EXPECT_EQ(refusal_of_settings({"medium.sound_speed_m_s=340", "front_end.frequencies_hz=[500, 1000]", "array={}"}),
            "");
  for (const char* one : {"daemon.page.address=0.0.0.0:80", "daemon={page: {}}", "daemon[page]=1", "daemon.x="}) {
    EXPECT_THAT(refusal_of_settings({one}), HasSubstr("settings of the processing")) << one;
  }
  for (const char* one : {"", "=1", "--config=x", "-c=x", " daemon.page.address=x", "\"daemon\".page=x", "no mark"}) {
    EXPECT_THAT(refusal_of_settings({one}), HasSubstr("expected KEY=VALUE")) << one;
  }
  EXPECT_THAT(refusal_of_settings(std::vector<std::string>(65, "a=1")), HasSubstr("at most 64"));
  EXPECT_THAT(refusal_of_settings({"a=" + std::string(5000, 'x')}), HasSubstr("at most 4096 bytes"));
}

}  // namespace
}  // namespace nearfield::page
