#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "nearfield/runtime_folder.h"
#include "support/command.hpp"

// Where sockets lie by default, for root and for others, daemon and client.
namespace nearfield {
namespace {

constexpr std::string_view kFrames = DaemonSettings::Ring::kFile;

/// True when `holds` does in a process that is not root and whose environment says where its folders are.
bool as_a_user(const std::string& session, const std::string& own, const std::function<bool()>& holds,
               bool gives_up_root = true) {
  const pid_t process = fork();
  if (process == 0) {
    session.empty() ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", session.c_str(), 1);
    own.empty() ? unsetenv("NEARFIELD_RUNTIME_DIR") : setenv("NEARFIELD_RUNTIME_DIR", own.c_str(), 1);
    constexpr uid_t kNobody = 65534;
    const bool is_other = !gives_up_root || geteuid() != 0 || setuid(kNobody) == 0;
    _exit(is_other && holds() ? 0 : 1);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A socket's file; closed, so that nothing listens.
void make_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  close(made);
}

TEST(DefaultSockets, WhatIsNamedIsTaken) {
  EXPECT_EQ(socket_to_serve("/a/b.sock", kFrames), "/a/b.sock");
  EXPECT_EQ(socket_to_connect("/a/b.sock", kFrames), "/a/b.sock");
  EXPECT_EQ(socket_to_serve("", kFrames), "");
}

TEST(DefaultSockets, OfAUserLieInHisSessionsFolder) {
  EXPECT_TRUE(as_a_user("/run/user/7", "", [] {
    return socket_to_serve("auto", kFrames) == "/run/user/7/nearfield/frames.sock" &&
           socket_to_connect("auto", kFrames) == "/run/user/7/nearfield/frames.sock";
  }));
}

TEST(DefaultSockets, TheVariableGoesBeforeAll) {
  EXPECT_TRUE(as_a_user("/run/user/7", "/own", [] {
    return socket_to_serve("auto", kFrames) == "/own/frames.sock" &&
           socket_to_connect("auto", kFrames) == "/own/frames.sock";
  }));
  EXPECT_TRUE(as_a_user("/run/user/7", "relative", [] {
    return socket_to_serve("auto", kFrames) == "/run/user/7/nearfield/frames.sock";
  })) << "only an absolute path is one place for daemon and client";
}

TEST(DefaultSockets, RootAndServicesUseTheSystemsFolder) {
  if (geteuid() == 0) {
    constexpr bool kStaysRoot = false;
    EXPECT_TRUE(as_a_user(
        "", "", [] { return socket_to_serve("auto", kFrames) == "/run/nearfield/frames.sock"; }, kStaysRoot));
  }
  EXPECT_TRUE(as_a_user("", "", [] { return socket_to_connect("auto", kFrames) == "/run/nearfield/frames.sock"; }));
}

// Where the user has no session and may not write /run, the message says what to set.
TEST(DefaultSockets, WithoutAFolderTheDaemonSaysWhatToSet) {
  EXPECT_TRUE(as_a_user("", "", [] {
    try {
      (void)socket_to_serve("auto", kFrames);
    } catch (const IoError& error) {
      const std::string message = error.what();
      return message.find("/run/nearfield") != std::string::npos &&
             message.find("NEARFIELD_RUNTIME_DIR") != std::string::npos;
    }
    return access("/run/nearfield", W_OK | X_OK) == 0;
  }));
}

// A client connects to the user's own daemon first, and the system's where the user has none.
TEST(DefaultSockets, AClientAsksWhereTheSocketIs) {
  const test::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::create_directory(folder / "nearfield");
  std::filesystem::permissions(folder / "nearfield", std::filesystem::perms::all);
  const auto asked = [] {
    std::array<char, 100> path{};
    return nf_socket_to_connect(NF_FRAMES_SOCKET, path.data(), path.size()) == 1 ? std::string(path.data()) : "";
  };
  struct stat status {};
  if (stat("/run/nearfield/frames.sock", &status) != 0) {
    EXPECT_TRUE(as_a_user(folder.path(), "", [&] { return asked() == folder / "nearfield/frames.sock"; }));
  }
  make_socket(folder / "nearfield/frames.sock");
  EXPECT_TRUE(as_a_user(folder.path(), "", [&] { return asked() == folder / "nearfield/frames.sock"; }));
}

TEST(DefaultSockets, APathThatIsTooLongIsRefused) {
  EXPECT_TRUE(as_a_user("", "/" + std::string(200, 'x'), [] {
    try {
      (void)socket_to_serve("auto", kFrames);
    } catch (const IoError&) {
      return true;
    }
    return false;
  }));
}

}  // namespace
}  // namespace nearfield
