#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "support/command.hpp"
#include "support/recordings.hpp"

namespace nearfield {
namespace {

using test::run_nearfield;

/// A socket on loopback, as a plain program would open it.
class Listener {
 public:
  Listener() : socket_(socket(AF_INET, SOCK_DGRAM, 0)) {
    const int bytes = 1 << 22;
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    const timeval wait{10, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    socklen_t length = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  /// The next datagram, empty after ten seconds without one, or at once where `flags` say so.
  std::string receive(int flags = 0) const {
    std::string bytes(65536, '\0');
    const ssize_t count = recv(socket_, bytes.data(), bytes.size(), flags);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

 private:
  int socket_;
  int port_ = 0;
};

TEST(Send, CutsACaptureIntoPackets) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1010);
  const Listener listener;
  const auto result =
      run_nearfield("send " + (folder / "capture.h5") + " --to " + listener.address() + " --bit-times 100");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("11 datagrams"), std::string::npos) << result.output;
  for (std::size_t packet = 0; packet < 11; ++packet) {
    const std::string bytes = listener.receive(MSG_DONTWAIT);
    EXPECT_EQ(bytes.size(), 32U + (packet < 10 ? 100U : 10U) * 8U);
    EXPECT_EQ(bytes.substr(0, 4), "NFB1");
  }
  EXPECT_TRUE(listener.receive(MSG_DONTWAIT).empty());
}

TEST(Send, LosesWhatItIsAskedToAndSaysSo) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1000);
  const Listener listener;
  const auto result = run_nearfield("send " + (folder / "capture.h5") + " --loss 1 --to " + listener.address());
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("of 4 packets: 4 lost"), std::string::npos) << result.output;
  EXPECT_TRUE(listener.receive(MSG_DONTWAIT).empty());
}

TEST(Send, EndsCleanlyWhenInterrupted) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1000);
  const Listener listener;
  const test::RunningCommand command("send " + (folder / "capture.h5") + " --loop --rate 0.01 --to " +
                                     listener.address());
  EXPECT_FALSE(listener.receive().empty());
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0);
}

TEST(Send, WrongArgumentsHaveTheirExitCodes) {
  const test::TemporaryFolder folder;
  test::write_random_capture(folder / "capture.h5", 1000);
  const std::string capture = folder / "capture.h5";
  EXPECT_EQ(run_nearfield("send /nowhere.h5 --to 127.0.0.1:1").exit_code, 66);
  EXPECT_EQ(run_nearfield("send " + capture + " --to 127.0.0.1").exit_code, 64);
  EXPECT_EQ(run_nearfield("send " + capture + " --to 127.0.0.1:1 --bit-times 9000").exit_code, 78);
  EXPECT_EQ(run_nearfield("send " + capture + " --to 127.0.0.1:1 --rate 0").exit_code, 78);
  EXPECT_EQ(run_nearfield("send " + capture + " --to 127.0.0.1:1 --loss 2").exit_code, 78);
}

}  // namespace
}  // namespace nearfield
