#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string text_in(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PartialFileTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::string output_ = folder_ / "out";
  std::string partial_ = folder_ / "out.partial";
};

TEST_F(PartialFileTest, HasItsNameOnlyWhenItIsWhole) {
  {
    PartialFile file(output_);
    file.write("half");
    EXPECT_EQ(text_in(partial_), "half");
    EXPECT_FALSE(fs::exists(output_));
  }
  EXPECT_FALSE(fs::exists(partial_));
  write_whole_file(output_, "whole");
  EXPECT_EQ(text_in(output_), "whole");
  EXPECT_FALSE(fs::exists(partial_));
}

// A token could be opened by others between the file's making and a later change of its mode.
TEST_F(PartialFileTest, HasItsModeFromTheBeginning) {
  const mode_t before = umask(0);
  const PartialFile secret(output_, S_IRUSR | S_IWUSR);
  const PartialFile plain(folder_ / "plain");
  umask(before);
  EXPECT_EQ(fs::status(partial_).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(folder_ / "plain.partial").permissions(), fs::perms(0666));
}

// A link planted in a folder of another user: its target was overwritten, and the output left as a link to it.
TEST_F(PartialFileTest, ALinkInThePlaceOfThePartialFileIsNotFollowed) {
  std::ofstream(folder_ / "precious") << "root's";
  for (const std::string& target : {folder_ / "precious", folder_ / "missing"}) {
    fs::create_symlink(target, partial_);
    EXPECT_THAT([&] { write_whole_file(output_, "x"); },
                ThrowsMessage<IoError>(HasSubstr("out.partial: found a link")));
    EXPECT_EQ(text_in(folder_ / "precious"), "root's");
    EXPECT_FALSE(fs::exists(folder_ / "missing"));
    EXPECT_FALSE(fs::exists(output_));
    fs::remove(partial_);
  }
}

TEST_F(PartialFileTest, ALinkInThePlaceOfTheOutputIsReplacedAndItsTargetStays) {
  std::ofstream(folder_ / "precious") << "root's";
  fs::create_symlink(folder_ / "precious", output_);
  write_whole_file(output_, "whole");
  EXPECT_FALSE(fs::is_symlink(output_));
  EXPECT_EQ(text_in(output_), "whole");
  EXPECT_EQ(text_in(folder_ / "precious"), "root's");
}

// A process that has the old file open, or another name for it, must not have the output then.
TEST_F(PartialFileTest, WhatWasLeftIsReplacedByANewFile) {
  std::ofstream(folder_ / "precious") << "root's";
  fs::create_hard_link(folder_ / "precious", partial_);
  write_whole_file(output_, "whole");
  EXPECT_EQ(text_in(output_), "whole");
  EXPECT_EQ(text_in(folder_ / "precious"), "root's");
}

TEST_F(PartialFileTest, PipesAndDevicesAreRefusedAtOnce) {
  ASSERT_EQ(mkfifo(partial_.c_str(), 0600), 0);
  EXPECT_THAT([&] { write_whole_file(output_, "x"); }, ThrowsMessage<IoError>(HasSubstr("found a special file")));
  EXPECT_THAT([] { write_whole_file("/dev/null", "x"); }, ThrowsMessage<IoError>(HasSubstr("found a special file")));
}

TEST_F(PartialFileTest, ASecondWriterIsRefused) {
  PartialFile first(output_);
  EXPECT_THAT([&] { PartialFile{output_}; }, ThrowsMessage<IoError>(HasSubstr("another program is writing it")));
  first.write("first");
  first.finish();
  EXPECT_EQ(text_in(output_), "first");
}

TEST_F(PartialFileTest, AnExchangedPartialFileIsNoticed) {
  PartialFile file(output_);
  fs::remove(partial_);
  fs::create_symlink(folder_ / "elsewhere", partial_);
  file.write("whole");
  EXPECT_THROW(file.finish(), IoError);
  EXPECT_FALSE(fs::exists(output_));
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
}

}  // namespace
}  // namespace nearfield
