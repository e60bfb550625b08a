#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "config/config.hpp"
#include "config/written_file.hpp"
#include "support/places.hpp"

/// Configurations that earlier versions shipped (tests/config/earlier): each is read, or the message names the line,
/// the key and its present name, and with that change it is read. Who renames or removes a key adds its line here.
namespace nearfield {
namespace {

namespace fs = std::filesystem;

/// What the message must say of each key that is no longer there.
const std::map<std::string, std::string> kFormerKeys = {
    {"holography.filter.search_every_frames", "did you mean holography.search_every_frames?"},
    {"daemon.publish.ring.mode", "unknown key"},
    {"daemon.control.mode", "unknown key"}};

std::vector<fs::path> earlier_configurations() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(NEARFIELD_SOURCE_DIR) / "tests/config/earlier")) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Upgrade, EarlierConfigurationsAreReadOrSayWhatToChange) {
  const std::vector<fs::path> configurations = earlier_configurations();
  ASSERT_GE(configurations.size(), 5U);
  std::size_t renamed = 0;
  for (const fs::path& path : configurations) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_FALSE(text.empty()) << path;
    for (const std::string& line :
         error_lines(text, [](const std::string& copy) { (void)load_daemon_settings(copy, {}); })) {
      const auto former = std::find_if(kFormerKeys.begin(), kFormerKeys.end(), [&](const auto& one) {
        return line.find(": " + one.first + ": unknown key") != std::string::npos;
      });
      ASSERT_NE(former, kFormerKeys.end()) << path << ": " << line;
      EXPECT_THAT(line, testing::AllOf(testing::MatchesRegex("lab\\.yaml:[0-9]+:[0-9]+: .*"),
                                       testing::HasSubstr(former->second)));
      ++renamed;
    }
  }
  EXPECT_GE(renamed, 1U) << "no configuration holds a former key";
}

}  // namespace
}  // namespace nearfield
