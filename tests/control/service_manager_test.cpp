#include "control/service/service_manager.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "support/command.hpp"

namespace nearfield::control {
namespace {

using testing::MatchesRegex;

/// What systemd would be: a datagram socket named in the environment.
class NotifySocket {
 public:
  NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ / "notify";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast): the socket interface is untyped
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    close(socket_);
  }
  /// The next message; a local datagram is there once it was sent.
  std::string next() const {
    std::array<char, 1024> buffer{};
    const ssize_t bytes = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return bytes < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(bytes));
  }

 private:
  test::TemporaryFolder folder_;
  int socket_;
};

TEST(ServiceManager, SpeaksToSystemd) {
  const NotifySocket systemd;
  const ServiceManager manager;
  manager.ready("1465 frames/s");
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=1465 frames/s");
  manager.status("two\nlines");
  EXPECT_EQ(systemd.next(), "STATUS=two lines");
  manager.reloading();
  EXPECT_THAT(systemd.next(), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=.*"));
  manager.feed_watchdog();
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  manager.stopping("asked to");
  EXPECT_EQ(systemd.next(), "STOPPING=1\nSTATUS=asked to");
  EXPECT_EQ(systemd.next(), "nothing");
}

TEST(ServiceManager, IsQuietWithoutSystemd) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_NO_THROW(ServiceManager().ready("x"));
}

TEST(ServiceManager, KnowsTheWatchdogsInterval) {
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(ServiceManager::watchdog_interval_ns(), 0);
  setenv("WATCHDOG_USEC", "2500000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(ServiceManager::watchdog_interval_ns(), 2'500'000'000);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::watchdog_interval_ns(), 0);
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST(CredentialPath, FindsCredentials) {
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(credential_path("/a/key"), "/a/key");
  EXPECT_THROW(credential_path("credential:curve.key"), ConfigError);
  setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1);
  EXPECT_EQ(credential_path("credential:curve.key"), "/run/credentials/x/curve.key");
  for (const char* bad : {"credential:", "credential:../x", "credential:.."}) {
    EXPECT_THROW(credential_path(bad), ConfigError) << bad;
  }
  unsetenv("CREDENTIALS_DIRECTORY");
}

TEST(Watchdog, IsFedOnlyWhileTheEngineLives) {
  Watchdog watchdog(1000, 0);
  EXPECT_FALSE(watchdog.should_feed(249));
  watchdog.is_alive();
  EXPECT_FALSE(watchdog.should_feed(249)) << "too early";
  EXPECT_TRUE(watchdog.should_feed(250));
  EXPECT_FALSE(watchdog.should_feed(500)) << "no sign of life since";
  EXPECT_FALSE(watchdog.should_feed(100000));
  watchdog.is_alive();
  EXPECT_TRUE(watchdog.should_feed(100001));
  EXPECT_FALSE(watchdog.should_feed(100002));
}

TEST(Watchdog, WithoutAnIntervalIsNeverFed) {
  Watchdog watchdog(0, 0);
  watchdog.is_alive();
  EXPECT_FALSE(watchdog.should_feed(1'000'000'000'000));
}

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// Looks every 100 ms from `begin_ns` on to `end_ns`; the last change that was seen.
TurnWatch::Change last_change(TurnWatch& watch, std::uint64_t turns, std::int64_t begin_ns, std::int64_t end_ns) {
  TurnWatch::Change last = TurnWatch::Change::kNone;
  for (std::int64_t now_ns = begin_ns; now_ns <= end_ns; now_ns += kSecondNs / 10) {
    const TurnWatch::Change change = watch.look(turns, 2 * kSecondNs, now_ns);
    last = change == TurnWatch::Change::kNone ? last : change;
  }
  return last;
}

TEST(TurnWatch, FindsAThreadThatDoesNotComeRound) {
  TurnWatch watch(0);
  EXPECT_EQ(last_change(watch, 0, 0, 2 * kSecondNs), TurnWatch::Change::kNone);
  EXPECT_EQ(last_change(watch, 0, 2 * kSecondNs, 3 * kSecondNs), TurnWatch::Change::kBecameLate);
  EXPECT_TRUE(watch.is_late());
  EXPECT_EQ(watch.silence_ns(), 3 * kSecondNs);
  EXPECT_EQ(last_change(watch, 1, 3 * kSecondNs, 3 * kSecondNs), TurnWatch::Change::kCameBack);
  EXPECT_FALSE(watch.is_late());
  EXPECT_EQ(last_change(watch, 1, 3 * kSecondNs, 5 * kSecondNs), TurnWatch::Change::kNone) << "it counts anew";
}

TEST(TurnWatch, DoesNotCountTimeInWhichNobodyLooked) {
  TurnWatch watch(0);
  EXPECT_EQ(last_change(watch, 0, 0, kSecondNs), TurnWatch::Change::kNone);
  EXPECT_EQ(last_change(watch, 0, 101 * kSecondNs, 101 * kSecondNs), TurnWatch::Change::kNone) << "suspended";
  EXPECT_EQ(last_change(watch, 0, 101 * kSecondNs, 103 * kSecondNs), TurnWatch::Change::kBecameLate);
}

TEST(TurnWatch, AThreadAtRestIsNeverLate) {
  TurnWatch watch(0);
  EXPECT_EQ(last_change(watch, 0, 0, 3 * kSecondNs), TurnWatch::Change::kBecameLate);
  EXPECT_EQ(watch.rest(3 * kSecondNs), TurnWatch::Change::kCameBack);
  EXPECT_EQ(watch.rest(100 * kSecondNs), TurnWatch::Change::kNone);
}

}  // namespace
}  // namespace nearfield::control
