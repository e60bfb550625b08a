#include "core/system/unix_server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "support/command.hpp"

namespace nearfield {
namespace {

/// Sends back what comes; throws at "throw".
class Echo : public UnixClient {
 public:
  using UnixClient::UnixClient;
  [[nodiscard]] short wanted() const override { return POLLIN; }
  [[nodiscard]] bool has_work() const override { return false; }
  Outcome attend(short events) override {
    if (events == 0) {
      return Outcome::kIdle;
    }
    std::array<char, 64> text{};
    const ssize_t bytes = recv(socket(), text.data(), text.size(), 0);
    if (bytes <= 0) {
      return Outcome::kClosed;
    }
    const auto length = static_cast<std::size_t>(bytes);
    if (std::string(text.data(), length) == "throw") {
      throw std::runtime_error("as asked");
    }
    send(socket(), text.data(), length, MSG_NOSIGNAL);
    return Outcome::kUsed;
  }
};

class EchoService : public UnixService {
 public:
  std::unique_ptr<UnixClient> admit(FileDescriptor socket) override {
    return std::make_unique<Echo>(std::move(socket));
  }
  void refuse(int socket, const PeerProcess& /*peer*/) override { send(socket, "no", 2, MSG_NOSIGNAL); }
  void turn_away(int socket) override { send(socket, "full", 4, MSG_NOSIGNAL); }
  void recover(const std::exception& error) override { recovered += error.what() == std::string("as asked") ? 1 : 100; }
  std::atomic<int> recovered = 0;
};

class UnixServerTest : public testing::Test {
 protected:
  [[nodiscard]] UnixServer::Options options(std::size_t most_clients, bool replaces_idle) const {
    return {.socket = path_,
            .access = {},
            .key = "here",
            .type = SOCK_SEQPACKET,
            .most_clients = most_clients,
            .replaces_idle = replaces_idle};
  }
  [[nodiscard]] FileDescriptor connected() const {
    FileDescriptor client(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return client;
  }
  /// Waits for it; empty at the connection's end.
  static std::string received(const FileDescriptor& client) {
    std::array<char, 64> text{};
    const ssize_t bytes = recv(client.get(), text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(bytes < 0 ? 0 : bytes)};
  }
  static std::string echo_of(const FileDescriptor& client, const std::string& text) {
    send(client.get(), text.data(), text.size(), MSG_NOSIGNAL);
    return received(client);
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "socket";
  EchoService service_;
};

TEST_F(UnixServerTest, TurnsAwayForWhomThereIsNoPlace) {
  const UnixServer server(options(1, false), service_);
  FileDescriptor first = connected();
  EXPECT_EQ(echo_of(first, "a"), "a");
  EXPECT_EQ(server.clients(), 1U);
  EXPECT_EQ(received(connected()), "full");
  EXPECT_EQ(echo_of(first, "b"), "b") << "the others go on";
  first = FileDescriptor();
  while (server.clients() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(echo_of(connected(), "c"), "c") << "the place is free again";
}

TEST_F(UnixServerTest, TheLongestIdleGivesWay) {
  const UnixServer server(options(2, true), service_);
  const FileDescriptor first = connected();
  EXPECT_EQ(echo_of(first, "a"), "a");
  const FileDescriptor second = connected();
  EXPECT_EQ(echo_of(second, "b"), "b");
  EXPECT_EQ(echo_of(first, "c"), "c");
  const FileDescriptor third = connected();
  EXPECT_EQ(echo_of(third, "d"), "d");
  EXPECT_EQ(received(second), "") << "used before the first one was again";
  EXPECT_EQ(echo_of(first, "e"), "e");
}

TEST_F(UnixServerTest, AnErrorDropsTheClientsAndNotTheServer) {
  const UnixServer server(options(4, false), service_);
  const FileDescriptor other = connected();
  EXPECT_EQ(echo_of(other, "a"), "a");
  EXPECT_EQ(echo_of(connected(), "throw"), "");
  EXPECT_EQ(received(other), "");
  EXPECT_EQ(echo_of(connected(), "b"), "b");
  EXPECT_EQ(service_.recovered, 1);
}

TEST_F(UnixServerTest, UnknownUsersAreNamed) {
  UnixServer::Options wrong = options(1, false);
  wrong.access.allowed_users = {"no such user"};
  EXPECT_THROW(UnixServer(wrong, service_), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace nearfield
