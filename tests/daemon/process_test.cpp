#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nearfield_ring.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "daemon/nearfieldd_process.hpp"
#include "files/files.hpp"
#include "support/images.hpp"

namespace nearfield {
namespace {

/// 64 numbers with commas between them.
template <typename Number>
std::string list_of(const Number& number) {
  std::string list;
  for (int i = 0; i < 64; ++i) {
    list += (i > 0 ? "," : "") + std::to_string(number(i));
  }
  return list;
}

using nlohmann::json;
using test::NearfielddTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(NearfielddTest, AFileIsPlayedToItsEndAndConserved) {
  ASSERT_EQ(run("--set daemon.source.pace=fast" + summary_option()), 0) << log();
  const json result = summary();
  EXPECT_EQ(result.at("frames"), (200'000 / 32 - 128) / 64 + 1);
  EXPECT_EQ(result.at("shed_hops"), 0);
  EXPECT_EQ(result.at("bit_times").at("missing"), 0);
  EXPECT_TRUE(result.at("conserved").get<bool>());
}

// Two processors of one stream, each with its ring: the second one's frames are those of its cadence.
TEST_F(NearfielddTest, EachProcessorHasItsRing) {
  start_live(
      " --set processors.rows.kind=spectrum --set processors.rows.window_samples=256 --set "
      "processors.rows.every_hops=4");
  nf_ring* ring = nullptr;
  ASSERT_EQ(nf_ring_open((folder_ / "frames.rows.sock").c_str(), &ring), NF_RING_OK);
  EXPECT_EQ(nf_ring_find_product(ring, "images"), -1);
  ASSERT_EQ(nf_ring_find_product(ring, "spectrum"), 0);
  nf_frame frame;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(nf_ring_read_next(ring, 30'000'000'000, &frame, nullptr), NF_RING_OK);
    EXPECT_TRUE(frame.sequence % 4 == 0 || frame.shed_hops > 0) << frame.sequence;
  }
  nf_ring_close(ring);
  ASSERT_EQ(nf_ring_open((folder_ / "frames.sock").c_str(), &ring), NF_RING_OK);
  EXPECT_EQ(nf_ring_find_product(ring, "spectrum"), -1);
  EXPECT_GE(nf_ring_find_product(ring, "images"), 0);
  nf_ring_close(ring);
  EXPECT_EQ(stop(), 0);
}

// Sources of a running daemon as lines, and as JSON; a processor without such a table is named.
TEST_F(NearfielddTest, TapShowsSources) {
  start_live(
      " --set processors.where.kind=srp_phat --set processors.where.every_hops=4 --set processors.where.significance=0"
      " --set processors.where.grid.step_m=0.25 --set processors.where.keep_map=false");
  const std::string tap = "tap --socket " + (folder_ / "frames.sock") + " --count 3 --sources";
  const test::CommandResult lines = test::run_nearfield(tap + " --processor where");
  EXPECT_EQ(lines.exit_code, 0) << lines.output;
  EXPECT_THAT(lines.output, AllOf(HasSubstr(": id "), HasSubstr(", state "), HasSubstr(", x "), HasSubstr(" m, vx "),
                                  HasSubstr(", confidence "), HasSubstr(" dB, first_bit_time ")));
  const test::CommandResult documents = test::run_nearfield(tap + " --json --processor where");
  EXPECT_EQ(documents.exit_code, 0) << documents.output;
  std::istringstream all(documents.output);
  int frames = 0;
  for (std::string line; std::getline(all, line); ++frames) {
    const json frame = json::parse(line);
    ASSERT_GE(frame.at("sources").size(), 1U) << line;
    EXPECT_LE(frame.at("sources")[0].at("first_bit_time"), frame.at("first_bit_time"));
    EXPECT_TRUE(frame.at("sources")[0].at("z").is_number());
  }
  EXPECT_EQ(frames, 3);
  const test::CommandResult other = test::run_nearfield(tap);
  EXPECT_EQ(other.exit_code, 66) << other.output;
  EXPECT_THAT(other.output, HasSubstr("expected a processor with a table of sources, found surface"));
  EXPECT_EQ(stop(), 0);
}

TEST_F(NearfielddTest, TheRingHoldsWhatReplayGives) {
  // The first window waits for us: frames stay in the ring until the daemon ends, which it does not by itself.
  start_live();
  nf_ring* ring = nullptr;
  ASSERT_EQ(nf_ring_open((folder_ / "frames.sock").c_str(), &ring), NF_RING_OK);
  nf_frame frame;
  std::uint64_t skipped = 0;
  ASSERT_EQ(nf_ring_read_next(ring, 10'000'000'000, &frame, &skipped), NF_RING_OK);
  ASSERT_EQ(test::run_nearfield("replay " + (folder_ / "capture.h5") + " -c " + (folder_ / "nearfieldd.yaml") + " -o " +
                                (folder_ / "images.h5"))
                .exit_code,
            0);
  // The file goes round: the frame's place in it, where the window does not cross the seam.
  const ImagesReader images(folder_ / "images.h5");
  while (frame.first_bit_time % 200'000 % 32 != 0 || frame.first_bit_time % 200'000 > 200'000 - 128 * 32 ||
         frame.first_bit_time % 200'000 % (64 * 32) != 0) {
    ASSERT_EQ(nf_ring_read_next(ring, 10'000'000'000, &frame, &skipped), NF_RING_OK);
  }
  const ImageFrame expected = images.read(frame.first_bit_time % 200'000 / (64 * 32));
  float largest = 0.0F;
  for (const std::complex<float>& value : expected.images) {
    largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < expected.images.size(); ++i) {
    // Running sums of single precision that began elsewhere.
    EXPECT_NEAR(frame.images[i].re, expected.images[i].real(), 1e-5F * largest);
    EXPECT_NEAR(frame.images[i].im, expected.images[i].imag(), 1e-5F * largest);
  }
  EXPECT_EQ(frame.valid_microphones, 64U);
  EXPECT_EQ(frame.epoch, 1U);
  EXPECT_GT(frame.publish_mono_ns, frame.capture_mono_ns);
  EXPECT_EQ(stop(), 0);
  nf_ring_close(ring);
}

TEST_F(NearfielddTest, SignalsEndItAndReloadIt) {
  start_live();
  write_configuration("340");
  kill(process_, SIGHUP);
  wait_until([this] { return call({{"command", "status"}}).at("epoch") == 2; });
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  write_configuration("-1");
  kill(process_, SIGHUP);
  wait_until([this] { return log().find("last good configuration goes on") != std::string::npos; });
  EXPECT_THAT(log(), HasSubstr("medium.sound_speed_m_s"));
  EXPECT_EQ(call({{"command", "status"}}).at("epoch"), 2);
  kill(process_, SIGTERM);
  EXPECT_EQ(wait(), 0) << log();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "control.sock"));
}

TEST_F(NearfielddTest, NewSettingsTakeEffectOrAreRefusedWithTheReason) {
  start_live();
  EXPECT_EQ(call({{"command", "set"}, {"settings", {"medium.sound_speed_m_s=341"}}}).at("epoch"), 2);
  const auto refused = [this](const std::string& setting) {
    try {
      call({{"command", "set"}, {"settings", {setting}}});
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadConfig);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refused("holography.standoff=0.05"), HasSubstr("did you mean holography.standoff_m?"));
  EXPECT_THAT(refused("front_end.frequencies_hz=[1e6]"), HasSubstr("front_end.frequencies_hz"));
  EXPECT_THAT(refused("daemon.source.loop=false"), HasSubstr("daemon.source: expected no change"));
  EXPECT_EQ(call({{"command", "status"}}).at("epoch"), 2);
  EXPECT_EQ(call({{"command", "reload"}}).at("epoch"), 3);
  EXPECT_EQ(stop(), 0);
}

// As a controller sees it that reads every frame: each follows as many hops behind the one before as the sequence says.
TEST_F(NearfielddTest, NewSettingsLoseNoHop) {
  start_live();
  nf_ring* ring = nullptr;
  ASSERT_EQ(nf_ring_open((folder_ / "frames.sock").c_str(), &ring), NF_RING_OK);
  auto set = std::async(std::launch::async, [this] {
    return call({{"command", "set"}, {"settings", {"medium.sound_speed_m_s=341"}}});
  });
  nf_frame before{};
  nf_frame frame{};
  std::uint64_t skipped = 0;
  ASSERT_EQ(nf_ring_read_next(ring, 10'000'000'000, &before, &skipped), NF_RING_OK);
  for (; before.epoch == 1; before = frame) {
    ASSERT_EQ(nf_ring_read_next(ring, 10'000'000'000, &frame, &skipped), NF_RING_OK);
    const std::uint64_t hops = frame.sequence - before.sequence;
    EXPECT_EQ(frame.first_bit_time - before.first_bit_time, 64 * 32 * hops);
    if (skipped == 0) {
      EXPECT_EQ(hops, 1 + frame.shed_hops);
    }
  }
  EXPECT_EQ(before.epoch, 2U);
  EXPECT_EQ(set.get().at("epoch"), 2);
  EXPECT_EQ(stop(), 0);
  nf_ring_close(ring);
}

TEST_F(NearfielddTest, ARecordingIsMadeAndReplayed) {
  start_live();
  call({{"command", "record"}, {"action", "start"}, {"name", "take"}});
  wait_until([this] { return call({{"command", "status"}}).at("recording").at("bytes") > 1'000'000; });
  const json done = call({{"command", "record"}, {"action", "stop"}});
  EXPECT_EQ(done.at("state"), "ended") << done;
  EXPECT_EQ(stop(), 0);
  const std::string recording = folder_ / "take.nfr";
  const test::CommandResult result = test::run_nearfield(
      "replay " + recording + " -c " + (folder_ / "nearfieldd.yaml") + " -o " + (folder_ / "images.h5"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ImagesReader(folder_ / "images.h5").read(0).missing_bits, 0U);
}

TEST_F(NearfielddTest, AnArmedRecorderWaitsForItsTrigger) {
  start_live("--set daemon.recording.trigger=external --set daemon.recording.pre_trigger_s=0.05");
  EXPECT_EQ(call({{"command", "status"}}).at("recording").at("state"), "armed");
  call({{"command", "record"}, {"action", "trigger"}});
  wait_until([this] { return call({{"command", "status"}}).at("recording").at("bytes") > 100'000; });
  EXPECT_THROW(call({{"command", "record"}, {"action", "start"}}), Error);
  EXPECT_EQ(stop(), 0);
}

TEST_F(NearfielddTest, ARecordingThatCannotBeWrittenSaysWhyAndFramesGoOn) {
  start_live("--set daemon.recording.directory=" + (folder_ / "capture.h5"));
  EXPECT_THROW(call({{"command", "record"}, {"action", "start"}}), Error);
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(stop(), 0);
}

// The deadline is 300 ms here; required is that the process ends by itself and with its own code.
TEST_F(NearfielddTest, AHungFrameEndsTheProcess) {
  EXPECT_EQ(run("--set daemon.deadlines.frame_ms=300", "NEARFIELDD_FAULT=hang:5"), 75) << log();
  EXPECT_THAT(log(), HasSubstr("a frame has not ended after 3"));
}

// A laptop's frame may take long: a daemon that is run by hand, with the default as the shipped file has it, too, says
// so, names the setting, and goes on; one that systemd watches ends, to be started again.
TEST_F(NearfielddTest, ASlowFrameEndsNoDaemonThatIsRunByHand) {
  std::string text = test::file_text(folder_ / "nearfieldd.yaml");
  text.erase(text.find("  deadlines"), text.find("  metrics") - text.find("  deadlines"));
  std::ofstream(folder_ / "nearfieldd.yaml") << text;
  start_live("--set daemon.deadlines.frame_ms=1000", "NEARFIELDD_FAULT=slow:20:1000000:2500000");
  wait_until([this] { return log().find("a frame has not ended after") != std::string::npos; });
  EXPECT_THAT(log(), HasSubstr("with a daemon.deadlines.frame_ms other than 1000, the default"));
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(run("", "WATCHDOG_USEC=60000000 NEARFIELDD_FAULT=slow:20:1000000:2500000"), 75) << log();
}

// The deadline is a live setting: the one that is set now counts.
TEST_F(NearfielddTest, ADeadlineThatIsSetWhileItRunsEndsTheProcess) {
  start_live("", "NEARFIELDD_FAULT=slow:5:1000000:500000");
  try {
    call({{"command", "set"}, {"settings", {"daemon.deadlines.frame_ms=200"}}});
  } catch (const Error&) {  // it ends before it answers
  }
  EXPECT_EQ(wait(), 75) << log();
  EXPECT_THAT(log(), HasSubstr("(daemon.deadlines.frame_ms)"));
}

// A device that is lost under a change of masks is a device error, and no crash.
TEST_F(NearfielddTest, ADeviceErrorUnderAMaskEndsTheProcess) {
  CaptureInfo info;
  std::vector<std::uint32_t> words;
  {
    const CaptureReader reader(folder_ / "capture.h5");
    info = reader.info();
    words.resize(info.bit_times * static_cast<std::uint64_t>(info.words_per_bit_time));
    reader.read(0, words);
  }
  for (std::size_t t = 0; 2 * t < words.size(); ++t) {
    words[2 * t] |= 1U << 5U;  // channel 5 is stuck
  }
  {
    CaptureWriter writer(folder_ / "stuck.h5", info);
    writer.append(words);
    writer.finish();
  }
  EXPECT_EQ(run("--set daemon.source.loop=true --set daemon.source.path=" + (folder_ / "stuck.h5"),
                "NEARFIELDD_FAULT=mask-device"),
            69)
      << log();
  EXPECT_THAT(log(), HasSubstr("a mask fails as if the device had"));
}

// Each frame takes 200 ms, so that every stop falls into one; the source's bits stop coming, too. Neither the frame's
// deadline nor the time without bits may count what passed while nothing could run.
TEST_F(NearfielddTest, AStoppedProcessGoesOn) {
  start_live(
      "--set daemon.deadlines.frame_ms=1000 --set daemon.no_input.after_ms=1000 "
      "--set daemon.no_input.is_fault=true",
      "NEARFIELDD_FAULT=slow:1:1000000:200000");
  for (int i = 0; i < 3; ++i) {
    const json frames = call({{"command", "status"}}).at("frames");
    kill(process_, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    kill(process_, SIGCONT);
    wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  }
  EXPECT_EQ(stop(), 0) << log();
}

// Nothing is compiled yet, so that there is time for a signal before the first frame.
TEST_F(NearfielddTest, SigtermEndsTheStartItself) {
  start("", "POCL_CACHE_DIR=" + (folder_ / "pocl") + " XDG_CACHE_HOME=" + (folder_ / "programs") +
                " CUDA_CACHE_PATH=" + (folder_ / "cuda"));
  wait_until(
      [this] { return std::filesystem::exists(folder_ / "pocl") && !std::filesystem::is_empty(folder_ / "pocl"); });
  kill(process_, SIGTERM);
  EXPECT_EQ(wait(), 0) << log();
  EXPECT_THAT(log(), HasSubstr("asked to stop while it started"));
  EXPECT_THAT(log(), testing::Not(HasSubstr("frames a second")));
}

// A signal in the middle of the start, at each line that says that a file or a port was made.
TEST_F(NearfielddTest, SigtermInTheStartLeavesNoFileBehind) {
  const auto files = [this] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run")) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  };
  const std::string run = folder_ / "run";
  std::filesystem::create_directory(run);
  std::filesystem::permissions(run, std::filesystem::perms::owner_all);
  const std::string arguments = "--set daemon.source.loop=true --set daemon.publish.ring.socket=" + run +
                                "/frames.sock --set daemon.control.socket=" + run +
                                "/control.sock --set daemon.metrics.address=127.0.0.1:0 "
                                "--set daemon.page.address=127.0.0.1:0";
  for (const std::string line : {"frames for controllers", "control at", "metrics at", "page at"}) {
    std::filesystem::remove(folder_ / "log");
    start(arguments);
    const auto end = std::chrono::steady_clock::now() + test::kTimeout;
    while (log().find(line) == std::string::npos && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    kill(process_, SIGTERM);
    EXPECT_EQ(wait(), 0) << log();
    EXPECT_THAT(files(), testing::IsEmpty()) << "at " << line << ": " << log();
  }
}

TEST_F(NearfielddTest, SighupFromTheFirstLineOfMainOnDoesNotEndIt) {
  std::ofstream(folder_ / "held") << "while this is here";
  start("--set daemon.source.loop=true", "NEARFIELDD_FAULT=start-hang:" + (folder_ / "held"));
  wait_until([this] { return log().find("the start waits") != std::string::npos; });
  kill(process_, SIGHUP);
  std::filesystem::remove(folder_ / "held");
  wait_for_frames();
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(NearfielddTest, SignalsThatMeanNothingToItDoNotEndIt) {
  start_live();
  for (const int number : {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGRTMIN, SIGRTMAX}) {
    kill(process_, number);
  }
  const json frames = call({{"command", "status"}}).at("frames");
  wait_until([&] { return call({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(NearfielddTest, UsedUpDescriptorsHaveALineInTheLog) {
  start_live();
  rlimit before{};
  ASSERT_EQ(prlimit(process_, RLIMIT_NOFILE, nullptr, &before), 0);
  wait_until([&] {
    // The lowest number that is free: none can be had below the limit. A folder that is open meanwhile hides one.
    rlimit none = before;
    none.rlim_cur = 0;
    while (std::filesystem::exists(std::filesystem::symlink_status("/proc/" + std::to_string(process_) + "/fd/" +
                                                                   std::to_string(none.rlim_cur)))) {
      ++none.rlim_cur;
    }
    return prlimit(process_, RLIMIT_NOFILE, &none, nullptr) == 0 &&
           log().find("no file descriptor is left") != std::string::npos;
  });
  ASSERT_EQ(prlimit(process_, RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_EQ(stop(), 0) << log();
}

TEST_F(NearfielddTest, FaultsAreNotInTheProgramThatIsInstalled) {
  start_program(NEARFIELDD_BINARY, "--frames 20", "NEARFIELDD_FAULT=device:5");
  EXPECT_EQ(wait(), 0) << log();
}

/// What systemd would be: counts the feeds of its watchdog. Reads all the time, as systemd does: a socket whose queue
/// is full, of ten messages by the kernel's default, would hold up who writes to it.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-cstyle-cast): the socket interface is untyped
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    reader_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        feeds();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  ~NotifySocket() {
    reader_ = {};
    close(socket_);
  }
  /// With all that was sent before the call.
  int feeds() {
    const std::lock_guard lock(mutex_);
    std::array<char, 1024> buffer{};
    for (ssize_t bytes = 0; (bytes = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;) {
      feeds_ += std::string(buffer.data(), static_cast<std::size_t>(bytes)) == "WATCHDOG=1" ? 1 : 0;
    }
    return feeds_;
  }

 private:
  int socket_;
  std::mutex mutex_;  ///< of feeds_
  int feeds_ = 0;
  std::jthread reader_;  ///< last: joined before the rest goes
};

// A hop of 2.4 s, and five minutes before "no input" is declared, against a watchdog that wants to be fed every 0.4 s:
// fed by frames alone it would have had one feed a frame.
TEST_F(NearfielddTest, LongHopsDoNotStarveTheWatchdog) {
  NotifySocket systemd(folder_ / "notify");
  start_live("--set front_end.hop_samples=112640 --set daemon.no_input.after_ms=300000",
             "WATCHDOG_USEC=400000 NOTIFY_SOCKET=" + (folder_ / "notify"));
  wait_until([&] { return systemd.feeds() >= 20; });
  EXPECT_LT(call({{"command", "status"}}).at("frames"), 10);
  EXPECT_EQ(stop(), 0);
}

/// A thread hangs as long as a file is there: meanwhile systemd gets no notification, and the log names the thread.
class HungThread : public NearfielddTest {
 protected:
  void expect_withheld(const std::string& fault, const std::string& thread, const std::function<void()>& begin) {
    const std::filesystem::path file = std::filesystem::absolute(std::string(folder_ / "hang"));
    std::ofstream(file) << "hangs";
    NotifySocket systemd(folder_ / "notify");
    start("--set daemon.source.loop=true", "WATCHDOG_USEC=400000 NOTIFY_SOCKET=" + (folder_ / "notify") +
                                               " NEARFIELDD_FAULT=" + fault + ":" + file.string());
    begin();
    wait_until([&] { return log().find("the thread of " + thread + " has not come round") != std::string::npos; });
    const int before = systemd.feeds();
    std::this_thread::sleep_for(std::chrono::seconds(1));  // in which there would be ten
    EXPECT_EQ(systemd.feeds(), before);
    std::filesystem::remove(file);
    wait_until([&] { return systemd.feeds() >= before + 5; });
    EXPECT_EQ(stop(), 0);
    EXPECT_THAT(log(), HasSubstr("warning: the thread of " + thread + " came round again after "));
  }
};

TEST_F(HungThread, OfTheSourceWithholdsTheNotification) {
  expect_withheld("source-hang", "the source", [] {});
}

TEST_F(HungThread, OfControlWithholdsTheNotification) {
  std::thread asks;
  expect_withheld("control-hang", "control", [&] {
    wait_for_frames();
    asks = std::thread([this] { EXPECT_TRUE(call({{"command", "config"}}).contains("yaml")); });
  });
  asks.join();
}

TEST_F(NearfielddTest, WhatMemoryCannotHoldIsRefusedBeforeItIsAllocated) {
  const std::string huge =
      "--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 --set device.batch=1024 "
      "--set holography.upsample=8 --set array.rows=64 --set array.columns=64 --set front_end.window_samples=1024 "
      "--set front_end.hop_samples=1 "
      "--set front_end.frequencies_hz='[" +
      list_of([](int i) { return 45.7763671875 * (i + 1); }) + "]' --set holography.planes_m='[" +
      list_of([](int i) { return -1e-5 * i; }) + "]'";
  EXPECT_EQ(run("--check " + huge), 78) << log();
  EXPECT_THAT(log(), HasSubstr("holography.planes_m, front_end.frequencies_hz, holography.upsample, device.batch: "
                               "expected what fits into"));
  EXPECT_EQ(run(huge), 78) << log();
  EXPECT_EQ(run("--check"), 0) << log();
}

TEST_F(NearfielddTest, ADeviceErrorEndsTheProcess) {
  EXPECT_EQ(run("", "NEARFIELDD_FAULT=device:5"), 69) << log();
  EXPECT_THAT(log(), HasSubstr("ending with code 69"));
}

TEST_F(NearfielddTest, SlowFramesAreShedAndCounted) {
  // A hop is 1.4 ms; frames that take 3 ms more fall behind.
  ASSERT_EQ(run("--set daemon.source.loop=true --duration 1.5 --set daemon.overload.pause_dashboards_ms=4 --set "
                "daemon.overload.pause_recordings_ms=8 --set daemon.overload.shed_hops_ms=12" +
                    summary_option(),
                "NEARFIELDD_FAULT=slow:10:100000:3000"),
            0)
      << log();
  EXPECT_GT(summary().at("shed_hops"), 0) << summary();
  EXPECT_TRUE(summary().at("conserved").get<bool>()) << summary();
}

TEST_F(NearfielddTest, WrongConfigurationsAndDevicesHaveTheirCodes) {
  EXPECT_EQ(run("--set device.platform=nonesuch"), 69) << log();
  std::ofstream(folder_ / "nearfieldd.yaml") << "version: 1\ndaemon:\n  no_input: {after: 3}\n";
  EXPECT_EQ(run("--check"), 78);
  EXPECT_THAT(log(), HasSubstr("nearfieldd.yaml:3:14: daemon.no_input.after: unknown key; did you mean"));
  EXPECT_EQ(run(""), 78);
  std::filesystem::remove(folder_ / "nearfieldd.yaml");
  EXPECT_EQ(run("--check"), 66);
  EXPECT_EQ(run("--nonsense"), 64);
}

TEST_F(NearfielddTest, ASceneWithTracksIsRefused) {
  std::ofstream(folder_ / "scene.yaml")
      << "version: 1\nsources:\n  - {kind: track, file: a.wav, x_m: 0, y_m: 0, z_m: -1, pressure_at_1m_pa: 1}\n";
  const std::string scene = "--set daemon.source.kind=simulate --set daemon.source.scene=" + (folder_ / "scene.yaml");
  for (const char* check : {"", "--check "}) {
    EXPECT_EQ(run(check + scene), 78);
    EXPECT_THAT(log(), AllOf(HasSubstr("daemon.source.scene: expected a scene without recorded tracks"),
                             HasSubstr("nearfield send " + (folder_ / "scene.yaml"))));
  }
}

TEST_F(NearfielddTest, CheckLooksAtThisMachine) {
  EXPECT_EQ(run("--check"), 0) << log();
  EXPECT_THAT(log(), AllOf(HasSubstr("note: device: "), HasSubstr("nearfieldd.yaml: no problems\n")));
  EXPECT_EQ(run("--check --set daemon.recording.directory=/no/such"), 78);
  EXPECT_THAT(log(), AllOf(HasSubstr("daemon.recording.directory: expected the folder /no/such"),
                           Not(HasSubstr("no problems"))));
  EXPECT_EQ(run("--check --set device.platform=nonesuch"), 78);
  EXPECT_THAT(log(), HasSubstr("device.platform, device.index: "));
}

// From the first moment on, in the form of all of Nearfield's errors.
TEST_F(NearfielddTest, ErrorsAtStartHaveOneForm) {
  std::filesystem::remove(folder_ / "nearfieldd.yaml");
  EXPECT_EQ(run(""), 66);
  EXPECT_THAT(log(), testing::StartsWith("nearfieldd: error: "));
  EXPECT_EQ(run("--nonsense"), 64);
  EXPECT_THAT(log(), testing::StartsWith("nearfieldd: error: --nonsense: unknown option"));
}

TEST_F(NearfielddTest, SaysWhatItDoesWhileItStarts) {
  start_live();
  EXPECT_EQ(stop(), 0);
  EXPECT_THAT(log(), AllOf(HasSubstr(": configuration "), HasSubstr("source: "),
                           HasSubstr("step 2 of 4: compiling programs for "), HasSubstr("device: "),
                           HasSubstr("frames for controllers at " + (folder_ / "frames.sock")),
                           HasSubstr("control at " + (folder_ / "control.sock"))));
}

TEST_F(NearfielddTest, AnEpochSaysWhatChanged) {
  start_live();
  call({{"command", "set"}, {"settings", {"medium.sound_speed_m_s=341", "holography.planes_m=[0.01]"}}});
  EXPECT_EQ(stop(), 0);
  EXPECT_THAT(log(), HasSubstr("epoch 2 begins: medium.sound_speed_m_s 343 -> 341, holography.planes_m [0] -> [0.01]"));
}

TEST_F(NearfielddTest, SamplesNeedAGeometryAndAreCountedAsSamples) {
  write_time_data(folder_ / "capture.h5", 46875.0, 64, test::monopole_samples(4096, 1464.84375));
  EXPECT_EQ(run(""), 78) << log();
  EXPECT_THAT(log(), HasSubstr("--set array.pitch_x_m=METRES"));
  start_live(test::kSmallArrayOptions);
  const test::CommandResult status = test::run_nearfield("ctl --socket " + (folder_ / "control.sock") + " status");
  EXPECT_THAT(status.output, AllOf(HasSubstr("\nsamples "), Not(HasSubstr("bit-times "))));
  EXPECT_EQ(stop(), 0);
}

TEST_F(NearfielddTest, NoInputIsDeclaredAndMayBeAFault) {
  start("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 --set daemon.no_input.after_ms=50");
  wait_until([this] { return call({{"command", "status"}}).at("state") == "no input"; });
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(run("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 "
                "--set daemon.no_input.after_ms=50 --set daemon.no_input.is_fault=true"),
            66)
      << log();
}

// What lies in the ring when the stream ends is more than a window, and less than the next one needs.
TEST_F(NearfielddTest, NoInputIsDeclaredWhereHopsAreLongerThanWindows) {
  start(
      "--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 --set daemon.no_input.after_ms=50 "
      "--set front_end.hop_samples=8192");
  wait_until([this] { return call({{"command", "status"}}).at("state") == "no input"; });
  const std::string port = to_string(call({{"command", "status"}}).at("port"));
  const test::CommandResult sent =
      test::run_nearfield("send " + (folder_ / "capture.h5") + " --loop --duration 0.5 --to 127.0.0.1:" + port);
  ASSERT_EQ(sent.exit_code, 0) << sent.output;
  wait_for_frames();
  wait_until([this] { return call({{"command", "status"}}).at("state") == "no input"; });
  EXPECT_EQ(stop(), 0);
}

TEST_F(NearfielddTest, AStreamOverUdpIsConserved) {
  start("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0" + summary_option());
  json port;
  wait_until([&] {
    port = call({{"command", "status"}}).at("port");
    return true;
  });
  const std::string to = "127.0.0.1:" + std::to_string(port.get<int>());
  const test::CommandResult sent =
      test::run_nearfield("send " + (folder_ / "capture.h5") + " --loop --duration 0.5 --to " + to +
                          " --loss 0.02 --reorder 0.02 --duplicate 0.02 --truncate 0.01 --flip 0.01 --seed 5");
  ASSERT_EQ(sent.exit_code, 0) << sent.output;
  wait_for_frames();
  EXPECT_EQ(stop(), 0);
  const json result = summary();
  EXPECT_TRUE(result.at("conserved").get<bool>()) << result;
  EXPECT_GT(result.at("frames_with_missing"), 0) << result;
}

}  // namespace
}  // namespace nearfield
