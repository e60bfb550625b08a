#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/nearfieldd_process.hpp"

namespace nearfield {
namespace {

using test::NearfielddTest;
using testing::HasSubstr;

// Its reader would wait for a writer, and control with it.
TEST_F(NearfielddTest, AConfigurationThatIsAPipeIsRefusedAtOnce) {
  std::filesystem::remove(folder_ / "nearfieldd.yaml");
  ASSERT_EQ(mkfifo((folder_ / "nearfieldd.yaml").c_str(), 0600), 0);
  EXPECT_EQ(run("--check"), 66);
  EXPECT_THAT(log(), HasSubstr("expected a YAML file, found a special file"));
}

TEST_F(NearfielddTest, ASummaryFollowsNoLink) {
  std::ofstream(folder_ / "precious") << "root's";
  std::filesystem::create_symlink(folder_ / "precious", folder_ / "summary.json.partial");
  EXPECT_EQ(run("--set daemon.source.pace=fast" + summary_option()), 74) << log();
  EXPECT_THAT(log(), HasSubstr("summary.json.partial: found a link"));
  EXPECT_EQ(test::file_text(folder_ / "precious"), "root's");
}

// As when somebody else was quicker with /tmp/nearfield.
TEST_F(NearfielddTest, ASocketInAStrangersFolderIsRefused) {
  if (geteuid() != 0) {
    return;  // only root can give folders away
  }
  std::filesystem::create_directory(folder_ / "his");
  ASSERT_EQ(chown((folder_ / "his").c_str(), 54321, 54321), 0);
  for (const char* key : {"daemon.control.socket", "daemon.publish.ring.socket"}) {
    EXPECT_EQ(run(std::string("--set ") + key + "=" + (folder_ / "his/s")), 78) << log();
    EXPECT_THAT(log(), HasSubstr("his belongs to user 54321"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "his/s"));
  }
}

}  // namespace
}  // namespace nearfield
