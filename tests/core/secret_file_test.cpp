#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SecretFile, IsItsUsersAloneWhateverTheUmaskAndAnOlderFile) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret";
  std::ofstream(path) << "an older one that others can read";
  fs::permissions(path, fs::perms(0644));
  const mode_t before = umask(0);
  write_secret_file(path, "secret\n");
  umask(before);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(read_secret_file(path, "a token", 100), "secret\n");
  EXPECT_EQ(read_secret_file(path, "a token", 3), "sec");
}

TEST(SecretFile, IsRefusedWhereOthersCanReadOrChangeIt) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret";
  write_secret_file(path, "secret");
  for (const unsigned mode : {0604U, 0602U, 0620U, 0700U}) {
    fs::permissions(path, fs::perms(mode));
    EXPECT_THAT([&] { read_secret_file(path, "a token", 100); }, ThrowsMessage<ConfigError>(HasSubstr("mode 0")))
        << mode;
  }
  fs::create_symlink(path, folder / "link");
  EXPECT_THAT([&] { read_secret_file(folder / "link", "a token", 100); }, ThrowsMessage<ConfigError>(HasSubstr("0700")))
      << "the mode is that of the file which is read";
  EXPECT_THAT([&] { read_secret_file(folder / "none", "a token", 100); },
              ThrowsMessage<NoInputError>(HasSubstr("none: expected a token, cannot be read")));
}

}  // namespace
}  // namespace nearfield
