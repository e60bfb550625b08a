#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "core/system/files.hpp"
#include "core/system/unix_server.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr UnixListener::Options kAnything{.type = SOCK_STREAM, .mode = 0666};

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

class UnixListenerTest : public testing::Test {
 protected:
  std::optional<std::string> problem(const std::string& folder) const {
    return socket_folder_problem(folder_ / (folder + "/s"));
  }
  std::string make(const std::string& name, mode_t mode) const {
    fs::create_directory(folder_ / name);
    EXPECT_EQ(chmod((folder_ / name).c_str(), mode), 0);
    return folder_ / name;
  }
  test::TemporaryFolder folder_;
};

TEST_F(UnixListenerTest, TheModeIsTheOneAskedForWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 077U}) {
    const mode_t before = umask(mask);
    {
      const UnixListener listener(folder_ / "s", kAnything);
      EXPECT_EQ(mode_of(folder_ / "s"), 0666U);
      EXPECT_EQ(umask(mask), mask) << "it is all threads', and stays as it is";
    }
    umask(before);
  }
}

TEST_F(UnixListenerTest, AFolderThatIsMissingIsMadePrivateUnlessOthersAreServed) {
  const mode_t before = umask(077);
  const UnixListener own(folder_ / "own/s", kAnything);
  UnixListener::Options options = kAnything;
  options.serves_others = true;
  const UnixListener shared(folder_ / "shared/s", options);
  umask(before);
  EXPECT_EQ(mode_of(folder_ / "own"), 0700U);
  EXPECT_EQ(mode_of(folder_ / "shared"), 0755U);
  EXPECT_THROW(UnixListener(folder_ / "one/two/s", kAnything), Error) << "only the last one";
}

TEST_F(UnixListenerTest, FoldersThatOthersMayWriteAreRefused) {
  make("open", 0777);
  make("sticky", 01777);
  make("closed", 0755);
  EXPECT_THAT(problem("open").value_or(""), HasSubstr("open has mode 0777"));
  EXPECT_EQ(problem("sticky"), std::nullopt);
  EXPECT_EQ(problem("closed"), std::nullopt);
  EXPECT_EQ(problem("missing"), std::nullopt);
  EXPECT_THAT(problem("missing/too").value_or(""), HasSubstr("missing: expected a folder"));
  make("open/inner", 0755);
  EXPECT_THAT(problem("open/inner").value_or(""), HasSubstr("open has mode 0777")) << "it can be renamed";
  EXPECT_THAT([&] { UnixListener(folder_ / "open/s", kAnything); }, ThrowsMessage<ConfigError>(HasSubstr("0777")));
  EXPECT_FALSE(fs::exists(folder_ / "open/s"));
}

// As when somebody else was quicker with `mkdir /tmp/nearfield`.
TEST_F(UnixListenerTest, FoldersAndLinksOfAStrangerAreRefused) {
  if (geteuid() != 0) {
    EXPECT_EQ(socket_folder_problem("/s"), std::nullopt) << "root's";
    return;  // only root can give folders away
  }
  constexpr uid_t kStranger = 54321;
  ASSERT_EQ(chown(make("his", 0755).c_str(), kStranger, kStranger), 0);
  fs::create_directory_symlink(make("own", 0700), folder_ / "link");
  EXPECT_THAT(problem("his").value_or(""), HasSubstr("his belongs to user 54321"));
  EXPECT_THAT(problem("his/missing").value_or(""), HasSubstr("his belongs to user 54321"));
  EXPECT_EQ(problem("link"), std::nullopt);
  ASSERT_EQ(lchown((folder_ / "link").c_str(), kStranger, kStranger), 0);
  EXPECT_THAT(problem("link").value_or(""), HasSubstr("link belongs to user 54321"));
  EXPECT_THROW(UnixListener(folder_ / "his/s", kAnything), ConfigError);
}

TEST_F(UnixListenerTest, NoModeIsGivenThroughALink) {
  std::ofstream(folder_ / "precious") << "root's";
  ASSERT_EQ(chmod((folder_ / "precious").c_str(), 0600), 0);
  fs::create_symlink(folder_ / "precious", folder_ / "s");
  EXPECT_THROW(set_socket_mode(folder_ / "s", 0666), IoError);
  EXPECT_THROW(set_socket_mode(folder_ / "precious", 0666), IoError);
  EXPECT_EQ(mode_of(folder_ / "precious"), 0600U);
}

// One thread exchanges the socket's folder for one with a link under the socket's name, as the owner of the folder
// above can; the other listens again and again. chmod() of the path hit the link's target within a few tries.
TEST_F(UnixListenerTest, ExchangedFoldersNeverReachTheTargetOfALink) {
  std::ofstream(folder_ / "precious") << "root's";
  ASSERT_EQ(chmod((folder_ / "precious").c_str(), 0600), 0);
  const std::string folder = make("folder", 0700);
  const std::string trap = make("trap", 0700);
  fs::create_symlink(folder_ / "precious", trap + "/s");
  const FileDescriptor first(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor second(open(trap.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto has_link = [](const FileDescriptor& place) {
    struct stat status {};
    return fstatat(place.get(), "s", &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  };
  std::atomic<bool> stop = false;
  std::thread exchanger([&] {
    while (!stop) {
      renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, trap.c_str(), RENAME_EXCHANGE);
    }
  });
  int listened = 0;
  int refused = 0;
  // On a busy machine the exchanger may not run for many tries, with the link in the way of all of them or of none.
  for (int i = 0; i < 2000 || listened < 100 || refused < 100; ++i) {
    try {
      const UnixListener listener(folder + "/s", kAnything);
      ++listened;
    } catch (const Error&) {  // the link was in the way, or the folder was exchanged
      ++refused;
    }
    // Where the listener took the link for a socket that it had found a moment before, there is a link again. By paths
    // both folders could get one, as they are exchanged all the while, and nothing would ever listen.
    if (!has_link(first) && !has_link(second)) {
      (void)!symlinkat((folder_ / "precious").c_str(), second.get(), "s");
    }
  }
  stop = true;
  exchanger.join();
  EXPECT_EQ(mode_of(folder_ / "precious"), 0600U);
}

TEST_F(UnixListenerTest, AnotherOnesSocketIsLeft) {
  auto first = std::make_unique<UnixListener>(folder_ / "s", kAnything);
  fs::remove(folder_ / "s");
  const UnixListener second(folder_ / "s", kAnything);
  first.reset();
  EXPECT_TRUE(fs::exists(folder_ / "s"));
}

TEST_F(UnixListenerTest, PathsAreBounded) {
  EXPECT_THROW(UnixListener(folder_ / std::string(120, 'x'), kAnything), ConfigError);
  EXPECT_THROW(UnixListener("", kAnything), ConfigError);
}

}  // namespace
}  // namespace nearfield
