#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RegularFile, IsReadUpToABound) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "text") << "0123456789";
  EXPECT_EQ(read_regular_file(folder / "text", "a text", 100), "0123456789");
  EXPECT_EQ(read_regular_file(folder / "text", "a text", 4), "0123");
}

// Opening a pipe would wait for its writer, which may never come.
TEST(RegularFile, NothingElseIsWaitedFor) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto read = [](const std::string& path) { return [path] { read_regular_file(path, "a text", 1); }; };
  EXPECT_THAT(read(folder / "pipe"), ThrowsMessage<NoInputError>(HasSubstr("expected a text, found a special file")));
  EXPECT_THAT(read("/dev/zero"), ThrowsMessage<NoInputError>(HasSubstr("found a special file")));
  EXPECT_THAT(read(folder.path()), ThrowsMessage<NoInputError>(HasSubstr("found a folder")));
  EXPECT_THAT(read(folder / "none"), ThrowsMessage<NoInputError>(HasSubstr("No such file")));
}

}  // namespace
}  // namespace nearfield
