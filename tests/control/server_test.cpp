#include "control/socket/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "control/socket/client.hpp"
#include "core/daemon_settings.hpp"
#include "core/error.hpp"
#include "support/command.hpp"

namespace nearfield::control {
namespace {

using testing::HasSubstr;

class ServerTest : public testing::Test {
 protected:
  Handlers handlers() {
    Actions actions;
    actions.status = [this] { return json{{"asked", ++asked_}}; };
    actions.set = [](const std::vector<std::string>& overrides) -> json {
      if (overrides.front() == "big=1") {
        return {{"text", std::string(1U << 20U, 'x')}};
      }
      throw ConfigError("--set: wrong");
    };
    return make_handlers(actions);
  }
  DaemonSettings::Control settings(const DaemonSettings::Access& access = {}) const { return {path_, access}; }
  static json status(Client& client) { return client.call({{"command", "status"}}); }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "control.sock";
  std::ostringstream lines_;
  std::shared_ptr<RateLimitedLog> log_ = std::make_shared<RateLimitedLog>(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)),
      [] { return std::int64_t{0}; });  // one second without an end
  std::atomic<int> asked_{0};
};

/// What the peer sends until it hangs up.
std::string read_all(int socket) {
  std::string text;
  char chunk[4096];
  for (ssize_t bytes = 0; (bytes = recv(socket, chunk, sizeof chunk, 0)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(bytes));
  }
  return text;
}

/// A socket there that is closed without its name: as after kill -9.
void bind_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const FileDescriptor socket_end(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(socket_end.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
}

void send_text(int socket, const std::string& text) {
  ASSERT_EQ(send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

TEST_F(ServerTest, AnswersClientAfterClient) {
  const Server server(settings(), handlers(), log_);
  for (int client = 1; client <= 20; ++client) {
    Client one(path_);
    EXPECT_EQ(status(one)["asked"], 2 * client - 1);
    EXPECT_EQ(status(one)["asked"], 2 * client);
  }
}

TEST_F(ServerTest, HandsErrorsToTheClient) {
  const Server server(settings(), handlers(), log_);
  Client client(path_);
  try {
    client.call({{"command", "set"}, {"settings", {"a=1"}}});
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadConfig);
    EXPECT_STREQ(error.what(), "--set: wrong");
  }
  EXPECT_EQ(status(client)["asked"], 1) << "the connection goes on";
}

TEST_F(ServerTest, AnswersAllLinesOfOneWrite) {
  const Server server(settings(), handlers(), log_);
  const FileDescriptor client = connect_to(path_, 10.0);
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += "{\"command\":\"status\",\"id\":" + std::to_string(i) + "}\n";
  }
  send_text(client.get(), lines);
  shutdown(client.get(), SHUT_WR);
  const std::string replies = read_all(client.get());
  EXPECT_EQ(std::count(replies.begin(), replies.end(), '\n'), 100);
  EXPECT_THAT(replies, testing::StartsWith("{\"id\":0,\"ok\":true,\"result\":{\"asked\":1}}\n{\"id\":1,"));
}

TEST_F(ServerTest, SilentClientsHoldUpNobody) {
  const Server server(settings(), handlers(), log_);
  std::vector<FileDescriptor> silent;
  for (std::size_t i = 0; i < 3 * Server::kMostClients; ++i) {
    silent.push_back(connect_to(path_, 10.0));
    send_text(silent.back().get(), "{\"command\":");  // never ended
  }
  Client client(path_);
  EXPECT_EQ(status(client)["asked"], 1);
}

TEST_F(ServerTest, ClientsThatDoNotReadHoldUpNobody) {
  const Server server(settings(), handlers(), log_);
  const FileDescriptor deaf = connect_to(path_, 10.0);
  for (int i = 0; i < 20; ++i) {
    send_text(deaf.get(), "{\"command\":\"set\",\"settings\":[\"big=1\"]}\n");
  }
  Client client(path_);
  for (int i = 1; i <= 50; ++i) {
    EXPECT_EQ(status(client)["asked"], i);
  }
}

TEST_F(ServerTest, BoundsALine) {
  const Server server(settings(), handlers(), log_);
  const FileDescriptor client = connect_to(path_, 10.0);
  const std::string whole = "{\"command\":\"status\"";
  send_text(client.get(), whole + std::string(kMostRequestBytes - whole.size() - 2, ' ') + "}\n");
  std::string reply(4096, '\0');
  ASSERT_GT(recv(client.get(), reply.data(), reply.size(), 0), 0);
  EXPECT_THAT(reply, HasSubstr("\"asked\":1"));
  send_text(client.get(), std::string(kMostRequestBytes, ' '));
  EXPECT_THAT(read_all(client.get()), HasSubstr("expected a line of at most 65536 bytes"));
  Client next(path_);
  EXPECT_EQ(status(next)["asked"], 2);
}

TEST_F(ServerTest, SocketIsForEveryUserAndGoesWithTheServer) {
  {
    const Server server(settings(), handlers(), log_);
    struct stat file {};
    ASSERT_EQ(stat(path_.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777U, 0666U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THROW(Client{path_}, NoInputError);
}

TEST_F(ServerTest, TakesTheSocketOfTheDeadOnly) {
  { bind_at(path_); }
  EXPECT_TRUE(std::filesystem::exists(path_)) << "as after kill -9";
  EXPECT_THROW(Client{path_}, NoInputError);
  const Server server(settings(), handlers(), log_);
  EXPECT_THROW(Server(settings(), handlers(), log_), IoError) << "one is enough";
  Client client(path_);
  EXPECT_EQ(status(client)["asked"], 1);
}

TEST_F(ServerTest, TakesNoFileAway) {
  std::ofstream(path_) << "precious";
  EXPECT_THROW(Server(settings(), handlers(), log_), IoError);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

// The names were removed by hand and a second daemon serves there when the first one ends.
TEST_F(ServerTest, RemovesItsOwnSocketAlone) {
  auto first = std::make_unique<Server>(settings(), handlers(), log_);
  std::filesystem::remove(path_);
  const Server second(settings(), handlers(), log_);
  first.reset();
  ASSERT_TRUE(std::filesystem::exists(path_));
  Client client(path_);
  EXPECT_EQ(status(client)["asked"], 1);
}

TEST_F(ServerTest, ClientRefusesNonsense) {
  const UnixListener listener(path_, {.type = SOCK_STREAM});
  std::thread nonsense([&listener] {
    pollfd waiting{listener.get(), POLLIN, 0};
    poll(&waiting, 1, -1);
    const FileDescriptor peer(accept(listener.get(), nullptr, nullptr));
    send(peer.get(), "hello\n", 6, MSG_NOSIGNAL);
  });
  EXPECT_THROW(Client(path_).call({{"command", "status"}}), DataError);
  nonsense.join();
}

/// A child process of another user connects; what the server sends it.
std::string reply_to_user(const std::string& path, uid_t user) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) {
      _exit(1);
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int socket_end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(socket_end, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      _exit(2);
    }
    const char request[] = "{\"command\":\"status\"}\n";
    send(socket_end, request, sizeof request - 1, MSG_NOSIGNAL);
    char reply[4096];
    const ssize_t bytes = recv(socket_end, reply, sizeof reply, 0);
    _exit(bytes > 0 && write(pipe_ends[1], reply, static_cast<std::size_t>(bytes)) == bytes ? 0 : 3);
  }
  close(pipe_ends[1]);
  std::string text;
  char chunk[4096];
  for (ssize_t bytes = 0; (bytes = read(pipe_ends[0], chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(bytes));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return text;
}

TEST_F(ServerTest, AsksTheKernelWhoIsThere) {
  constexpr uid_t kStranger = 54321;
  constexpr uid_t kFriend = 54322;
  chmod(folder_.path().c_str(), 0755);
  const Server server(settings({{std::to_string(kFriend)}, {}}), handlers(), log_);
  if (geteuid() == 0) {
    EXPECT_THAT(reply_to_user(path_, kStranger),
                testing::AllOf(HasSubstr("\"exit_code\":77"), HasSubstr("user 54321 is not permitted")));
    EXPECT_THAT(reply_to_user(path_, kFriend), HasSubstr("\"ok\":true"));
  } else {
    EXPECT_THAT(reply_to_user(path_, geteuid()), HasSubstr("\"ok\":true"));
  }
  EXPECT_EQ(asked_, 1);
}

// A user who can connect but is not permitted would else fill the log: 40 MB in 12 s were seen.
TEST_F(ServerTest, RefusedClientsKeepToTheLogsLimit) {
  if (geteuid() != 0) {
    return;  // only root can become a user who is refused
  }
  constexpr uid_t kStranger = 54321;
  constexpr int kTries = 30;
  chmod(folder_.path().c_str(), 0755);
  {
    const Server server(settings(), handlers(), log_);
    for (int i = 0; i < kTries; ++i) {
      EXPECT_THAT(reply_to_user(path_, kStranger), HasSubstr("not permitted"));
    }
  }
  const std::string lines = lines_.str();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), RateLimitedLog::kMostLines) << lines;
  EXPECT_THAT(lines, HasSubstr("refused user 54321"));
}

}  // namespace
}  // namespace nearfield::control
