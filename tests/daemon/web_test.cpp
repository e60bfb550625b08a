#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/nearfieldd_process.hpp"

namespace nearfield {
namespace {

using nlohmann::json;
using test::NearfielddTest;
using testing::HasSubstr;

constexpr const char* kServed =
    "--set daemon.page.address=127.0.0.1:0 --set daemon.metrics.address=127.0.0.1:0 --set daemon.source.loop=true ";

class WebTest : public NearfielddTest {
 protected:
  [[nodiscard]] json status() const { return call({{"command", "status"}}); }
};

// The thread that serves page and metrics hangs as long as a file is there: that is reported after 5 s, and frames come
// all the while.
TEST_F(WebTest, AHungPageIsReportedAndStopsNoFrames) {
  const std::filesystem::path fault = std::filesystem::absolute(std::string(folder_ / "hang"));
  std::ofstream(fault) << "hangs";
  start(kServed, "NEARFIELDD_FAULT=web-hang:" + fault.string());
  wait_until([this] { return status().at("web").at("state") == "hung"; });
  const json hung = status();
  EXPECT_EQ(hung.at("web").at("hangs"), 1);
  const auto frames = hung.at("frames").get<std::uint64_t>();
  EXPECT_GT(frames, 0U);
  wait_until([&] { return status().at("frames").get<std::uint64_t>() > frames + 20; });
  EXPECT_EQ(status().at("web").at("state"), "hung");
  std::filesystem::remove(fault);
  wait_until([this] { return status().at("web").at("state") == "serving"; });
  EXPECT_EQ(status().at("web").at("hangs"), 1);
  EXPECT_EQ(stop(), 0);
  EXPECT_THAT(log(), HasSubstr("error: the thread that serves page and metrics has not answered for 5 s; frames go on "
                               "cause=web_hung\n"));
  EXPECT_THAT(log(), HasSubstr("warning: page and metrics are served again, after "));
}

TEST_F(WebTest, AHungPageDoesNotKeepTheDaemonFromEnding) {
  start(kServed, "NEARFIELDD_FAULT=web-hang:1000");
  wait_for_frames();
  kill(process_, SIGTERM);
  EXPECT_EQ(wait(), 70);
  EXPECT_THAT(log(),
              HasSubstr("the thread that serves page and metrics hangs; all else has ended; ending with code 70"));
}

}  // namespace
}  // namespace nearfield
