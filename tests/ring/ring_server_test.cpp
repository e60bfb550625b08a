#include <grp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/error.hpp"
#include "ring/ring_output.hpp"
#include "ring/ring_support.hpp"

namespace nearfield::ring {
namespace {

class Server : public testing::Test {
 protected:
  ServerOptions options() { return {.socket = socket_}; }
  void serve(const ServerOptions& options) {
    output_ = std::make_unique<RingOutput>(RingOptions{.slots = 4}, options);
    output_->begin(result_header(test::ring_header()), {.epoch = 1});
  }
  nf_ring_status open() {
    nf_ring* ring = nullptr;
    const nf_ring_status status = nf_ring_open(socket_.c_str(), &ring);
    nf_ring_close(ring);
    return status;
  }
  /// What user and group 65534 get, with one more group.
  nf_ring_status open_as_nobody(gid_t extra) {
    const pid_t child = fork();
    if (child == 0) {
      const bool changed = setgroups(1, &extra) == 0 && setgid(65534) == 0 && setuid(65534) == 0;
      nf_ring* ring = nullptr;
      _exit(changed ? static_cast<int>(nf_ring_open(socket_.c_str(), &ring)) : 99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return static_cast<nf_ring_status>(WEXITSTATUS(status));
  }
  void wait_for_clients(std::size_t count) const {
    while (output_->readers() != count) {
      std::this_thread::yield();
    }
  }
  test::SocketFolder folder_;
  std::string socket_ = folder_ / "ring.sock";
  std::unique_ptr<RingOutput> output_;
};

TEST_F(Server, NothingThere) { EXPECT_EQ(open(), NF_RING_NO_SOCKET); }

TEST_F(Server, AnyUserMayConnectToBeToldWhoIsServed) {
  const mode_t before = umask(0077);
  serve(options());
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0666U);
}

TEST_F(Server, TakesThePlaceOfASocketThatNobodyServes) {
  const int dead = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  ASSERT_EQ(bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(dead);
  EXPECT_EQ(open(), NF_RING_NO_SOCKET);
  serve(options());
  EXPECT_EQ(open(), NF_RING_OK);
}

TEST_F(Server, AnErrorThatDisconnectsTheReadersIsLogged) {
  std::ostringstream lines;
  const std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines)));
  RingServer(options()).recover(std::runtime_error("no memory"));
  spdlog::set_default_logger(before);
  EXPECT_NE(lines.str().find(socket_ + ": no memory; all its readers are disconnected"), std::string::npos);
}

TEST_F(Server, LeavesASocketThatIsServedAndOtherFiles) {
  serve(options());
  EXPECT_THROW(RingServer{options()}, IoError);
  EXPECT_EQ(open(), NF_RING_OK);
  ServerOptions on_a_file = options();
  on_a_file.socket = folder_ / "notes.txt";
  std::ofstream(on_a_file.socket) << "mine";
  EXPECT_THROW(RingServer{on_a_file}, IoError);
  EXPECT_EQ(std::filesystem::file_size(on_a_file.socket), 4U);
}

TEST_F(Server, RefusesBadPaths) {
  ServerOptions bad = options();
  bad.socket = folder_ / std::string(120, 'x');
  EXPECT_THROW(RingServer{bad}, ConfigError);
  bad.socket = folder_ / "nowhere/at_all/ring.sock";
  EXPECT_THROW(RingServer{bad}, ConfigError);
}

TEST_F(Server, RemovesItsSocketAndOnlyItsOwn) {
  serve(options());
  output_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  serve(options());
  std::filesystem::remove(socket_);
  std::ofstream(socket_) << "another's";
  output_.reset();
  EXPECT_TRUE(std::filesystem::exists(socket_));
}

TEST_F(Server, TakesOnlySoManyReadersAndFreesTheirPlaces) {
  ServerOptions two = options();
  two.most_clients = 2;
  serve(two);
  auto first = test::open_ring(socket_);
  const auto second = test::open_ring(socket_);
  EXPECT_EQ(open(), NF_RING_BUSY);
  first.reset();
  wait_for_clients(1);
  EXPECT_EQ(open(), NF_RING_OK);
}

/// Only root can become another user; anyone else's part of the rule is held by tests/core/peers_test.cpp.
TEST_F(Server, AsksTheKernelWhoConnects) {
  ServerOptions some = options();
  some.access.allowed_groups = {"4711"};
  serve(some);
  std::filesystem::permissions(std::filesystem::path(socket_).parent_path(), std::filesystem::perms(0755));
  EXPECT_EQ(open(), NF_RING_OK);
  if (geteuid() == 0) {
    EXPECT_EQ(open_as_nobody(4712), NF_RING_REFUSED);
    EXPECT_EQ(open_as_nobody(4711), NF_RING_OK);
    std::filesystem::permissions(socket_, std::filesystem::perms(0600));
    EXPECT_EQ(open_as_nobody(4711), NF_RING_REFUSED);
  }
}

/// The server's user, of a ring in a folder of /tmp or in one that root gave him.
class ServerOfAStranger : public Server {
 protected:
  static constexpr uid_t kStranger = 54321;
  /// What this process, root, gets from a stranger's server in `folder`.
  static nf_ring_status open_his(const std::string& folder) {
    const std::string socket = folder + "/ring.sock";
    int ready[2];
    int done[2];
    EXPECT_EQ(pipe(ready) | pipe(done), 0);
    const pid_t child = fork();
    char byte = 0;
    if (child == 0) {
      close(done[1]);
      if (setgid(kStranger) != 0 || setuid(kStranger) != 0) {
        _exit(1);
      }
      RingOutput output({.slots = 4}, {.socket = socket});
      output.begin(result_header(test::ring_header()), {.epoch = 1});
      _exit(write(ready[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &byte, 1), 1) << "he serves";
    nf_ring* ring = nullptr;
    const nf_ring_status status = nf_ring_open(socket.c_str(), &ring);
    nf_ring_close(ring);
    close(done[1]);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(done[0]);
    std::filesystem::remove(socket);
    return status;
  }
};

// Anybody can make /tmp/nearfield first and serve a ring of his own there; /run/nearfield, though, root makes for the
// service's user.
TEST_F(ServerOfAStranger, IsTrustedOnlyWhereRootGaveHimTheFolder) {
  if (geteuid() != 0) {
    return;  // only root can become another user
  }
  const std::string his = folder_ / "his";
  std::filesystem::permissions(std::filesystem::path(his).parent_path(), std::filesystem::perms(0755));
  std::filesystem::create_directory(his);
  ASSERT_EQ(chown(his.c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(open_his(his), NF_RING_UNTRUSTED) << "/tmp, in which folder_ lies, is anybody's";
  char given[] = "/run/nf-ring-XXXXXX";
  ASSERT_NE(mkdtemp(given), nullptr);
  ASSERT_EQ(chown(given, kStranger, kStranger), 0);
  ASSERT_EQ(chmod(given, 0755), 0);
  const std::string link = folder_ / "link";
  std::filesystem::create_directory_symlink(given, link);
  EXPECT_EQ(open_his(given), NF_RING_OK);
  ASSERT_EQ(lchown(link.c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(open_his(link), NF_RING_UNTRUSTED) << "his link can lead elsewhere";
  std::filesystem::remove_all(given);
}

TEST_F(Server, ClientsThatSayNothingOrTooMuchHoldNobodyUp) {
  serve(options());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, socket_.size());
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
    ASSERT_EQ(connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string noise(1000, 'x');
    while (send(silent.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL) > 0) {
    }
  }
  EXPECT_EQ(open(), NF_RING_OK);
}

TEST_F(Server, ReadersNoticeTheEndOfAServerThatDidNotEndItsRing) {
  RingServer* server = new RingServer(options());
  const RingWriter writer(result_header(test::ring_header()), 1, {});
  server->offer(writer.memory());
  const auto ring = test::open_ring(socket_);
  delete server;
  nf_frame frame;
  EXPECT_EQ(nf_ring_read_latest(ring.get(), 1, &frame), NF_RING_GONE);
  EXPECT_EQ(nf_ring_read_next(ring.get(), -1, &frame, nullptr), NF_RING_GONE);
}

}  // namespace
}  // namespace nearfield::ring
