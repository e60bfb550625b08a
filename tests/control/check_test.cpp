#include "control/checks/check.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "core/daemon_settings.hpp"
#include "core/system/files.hpp"
#include "support/command.hpp"

// What `nearfieldd --check` sees of a machine, each in a world made for it.
namespace nearfield::control {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CheckOfAMachine : public testing::Test {
 protected:
  CheckOfAMachine() {
    DaemonSettings& daemon = *settings_.daemon;
    daemon.publish.ring.socket = folder_ / "frames.sock";
    daemon.control.socket = folder_ / "control.sock";
    daemon.recording.directory = folder_.path();
    daemon.metrics.address = "";
    daemon.page.address = "";
    daemon.source.kind = DaemonSettings::SourceKind::kFile;
  }
  /// All texts of one kind, each on its own line.
  [[nodiscard]] std::string found(Finding::Kind kind) const {
    std::string text;
    for (const Finding& finding : machine_findings(settings_)) {
      text += finding.kind == kind ? finding.text + "\n" : "";
    }
    return text;
  }
  [[nodiscard]] std::string problems() const { return found(Finding::Kind::kProblem); }
  [[nodiscard]] std::string notes() const { return found(Finding::Kind::kNote); }

  test::TemporaryFolder folder_;
  Settings settings_;
};

/// A socket that a process serves.
FileDescriptor listening(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(result.get(), 8), 0);
  return result;
}

/// A port of 127.0.0.1 that another process has, as far as the daemon can tell.
class TakenPort {
 public:
  explicit TakenPort(int type) : socket_(socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* head = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(socket_.get(), head, length), 0);
    EXPECT_TRUE(type == SOCK_DGRAM || listen(socket_.get(), 1) == 0);
    getsockname(socket_.get(), head, &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  FileDescriptor socket_;
  std::string address_;
};

TEST_F(CheckOfAMachine, AWorldThatIsRightHasNoProblems) {
  EXPECT_EQ(problems(), "");
  // The daemon makes the last folder of a socket's path itself.
  settings_.daemon->publish.ring.socket = folder_ / "run/frames.sock";
  EXPECT_EQ(problems(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run")) << "a look changes nothing";
}

TEST_F(CheckOfAMachine, FoldersOfSocketsMustBeThere) {
  settings_.daemon->publish.ring.socket = folder_ / "no/such/frames.sock";
  settings_.daemon->control.socket = "/proc/version/control.sock";
  EXPECT_THAT(problems(),
              AllOf(HasSubstr("daemon.publish.ring.socket: expected the folder " + (folder_ / "no")),
                    HasSubstr("mkdir -p"), HasSubstr("daemon.control.socket: expected /proc/version to be a folder")));
}

TEST_F(CheckOfAMachine, AFileInASocketsPlaceIsAProblem) {
  std::ofstream(folder_ / "frames.sock") << "mine";
  EXPECT_THAT(problems(), HasSubstr("found another kind of file"));
}

TEST_F(CheckOfAMachine, ASocketThatAStrangerServesIsAProblemAndOneOfADaemonANote) {
  const FileDescriptor ring = listening(folder_ / "frames.sock");
  EXPECT_THAT(problems(), HasSubstr("another process serves " + (folder_ / "frames.sock")));
  const FileDescriptor control = listening(folder_ / "control.sock");
  EXPECT_EQ(problems(), "");
  EXPECT_THAT(notes(), AllOf(HasSubstr("daemon.publish.ring.socket: another process serves"),
                             HasSubstr("a nearfieldd runs with it")));
}

TEST_F(CheckOfAMachine, ASocketThatNobodyServesIsANote) {
  (void)listening(folder_ / "control.sock");  // closed immediately; its file stays
  EXPECT_EQ(problems(), "");
  EXPECT_THAT(notes(), AllOf(HasSubstr("daemon.control.socket: expected no socket"),
                             HasSubstr("rm " + (folder_ / "control.sock"))));
  EXPECT_EQ(machine_findings(settings_).front().check, "stale_sockets");
}

TEST_F(CheckOfAMachine, PortsThatAreTakenAreProblems) {
  const TakenPort udp(SOCK_DGRAM);
  const TakenPort metrics(SOCK_STREAM);
  const TakenPort zmq(SOCK_STREAM);
  settings_.daemon->source.kind = DaemonSettings::SourceKind::kUdp;
  settings_.daemon->source.address = udp.address();
  settings_.daemon->metrics.address = metrics.address();
  settings_.daemon->publish.zmq.endpoint = "tcp://" + zmq.address();
  EXPECT_THAT(problems(), AllOf(HasSubstr("daemon.source.address: UDP port " + udp.address() + " is taken"),
                                HasSubstr("daemon.metrics.address: TCP port " + metrics.address() + " is taken"),
                                HasSubstr("daemon.publish.zmq.endpoint: TCP port " + zmq.address() + " is taken")));
}

// A daemon leaves out the page where its default port is taken, and ends where a port that was named is.
TEST_F(CheckOfAMachine, APagesTakenPortIsAProblemWhereItWasNamed) {
  const TakenPort page(SOCK_STREAM);
  settings_.daemon->page.address = page.address();
  EXPECT_EQ(problems(), "");
  EXPECT_THAT(notes(), AllOf(HasSubstr("daemon.page.address: TCP port " + page.address() + " is taken"),
                             HasSubstr("a daemon that starts now has no page")));
  settings_.explicit_keys.insert("daemon.page.address");
  EXPECT_THAT(problems(), HasSubstr("daemon.page.address: TCP port " + page.address() + " is taken"));
}

TEST_F(CheckOfAMachine, AddressesOfOtherMachinesAndUnknownInterfacesAreProblems) {
  settings_.daemon->source.kind = DaemonSettings::SourceKind::kUdp;
  settings_.daemon->source.address = "192.0.2.1:7230";  // for documentation: no machine has it
  settings_.daemon->source.interface = "nonesuch0";
  EXPECT_THAT(problems(), AllOf(HasSubstr("daemon.source.address: expected an address to listen at, found 192.0.2.1"),
                                HasSubstr("daemon.source.interface")));
}

TEST_F(CheckOfAMachine, WhatOtherMachinesReachIsANote) {
  settings_.daemon->source.kind = DaemonSettings::SourceKind::kUdp;
  settings_.daemon->source.address = "0.0.0.0:0";
  EXPECT_EQ(problems(), "");
  EXPECT_THAT(notes(), HasSubstr("daemon.source.address: 0.0.0.0:0 is reachable from other machines"));
  settings_.daemon->source.allowed_from = {"192.168.7.0/24"};
  EXPECT_EQ(notes(), "");
}

TEST_F(CheckOfAMachine, FilesMustBeFiles) {
  settings_.array.calibration_path = folder_.path();
  settings_.daemon->source.path = folder_ / "pipe";
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(problems(), AllOf(HasSubstr("array.calibration: expected a regular file"), HasSubstr("found a folder"),
                                HasSubstr("daemon.source.path: expected a regular file")));
  settings_.daemon->source.kind = DaemonSettings::SourceKind::kPipe;
  settings_.array.calibration_path.clear();
  EXPECT_EQ(problems(), "");
}

// A default that this machine does not give is a note; what the user set is a problem.
TEST_F(CheckOfAMachine, TheFolderOfRecordingsMustBeThere) {
  settings_.daemon->recording.directory = folder_ / "none";
  EXPECT_EQ(problems(), "");
  EXPECT_THAT(notes(), HasSubstr("daemon.recording.directory: expected the folder " + (folder_ / "none")));
  settings_.explicit_keys.insert("daemon.recording.directory");
  EXPECT_THAT(problems(), HasSubstr("daemon.recording.directory: expected the folder"));
}

TEST_F(CheckOfAMachine, TooFewOpenFilesAreAProblem) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string text = problems();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(text, AllOf(HasSubstr("open files: expected a limit of at least 192"), HasSubstr("found 100")));
}

TEST_F(CheckOfAMachine, ProcessorsThatAreNotThereAreAProblem) {
  settings_.daemon->realtime.cpus = {1023};
  EXPECT_THAT(problems(), HasSubstr("daemon.realtime.cpus"));
}

// Nothing else says what a pipe's numbers are.
TEST_F(CheckOfAMachine, SaysWhatTheSettingsTakeLiveSamplesFor) {
  EXPECT_EQ(notes(), "");
  DaemonSettings::Source& source = settings_.daemon->source;
  source.kind = DaemonSettings::SourceKind::kPipe;
  source.path = "-";
  source.payload = DaemonSettings::Payload::kSamples;
  settings_.array.geometry.rows = settings_.array.geometry.columns = 4;
  source.sample_rate_hz = 46'875.0;
  EXPECT_THAT(notes(),
              HasSubstr("daemon.source: 16 channels of f32, 46875 samples a second "
                        "(daemon.source.sample_rate_hz), taken as pascal, as array.pascal_per_unit is not given"));
  source.sample_rate_hz = 48'000.0;
  settings_.array.pascal_per_unit = 10.0;
  EXPECT_THAT(notes(), HasSubstr("48000 samples a second (daemon.source.sample_rate_hz), 1 is 10 Pa "
                                 "(array.pascal_per_unit)"));
}

}  // namespace
}  // namespace nearfield::control
