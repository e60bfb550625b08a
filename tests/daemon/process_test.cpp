#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nearfield_ring.h>

#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "capture/files.hpp"
#include "daemon/nearfieldd_process.hpp"

namespace nearfield {
namespace {

using nlohmann::json;
using test::NearfielddTest;
using testing::HasSubstr;

TEST_F(NearfielddTest, AFileIsPlayedToItsEndAndConserved) {
  ASSERT_EQ(run("--set daemon.source.pace=fast" + summary_option()), 0) << log();
  const json result = summary();
  EXPECT_EQ(result.at("frames"), (200'000 / 32 - 128) / 64 + 1);
  EXPECT_EQ(result.at("shed_hops"), 0);
  EXPECT_EQ(result.at("bit_times").at("missing"), 0);
  EXPECT_TRUE(result.at("conserved").get<bool>());
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
  wait_until([this] { return ask({{"command", "status"}}).at("epoch") == 2; });
  const json frames = ask({{"command", "status"}}).at("frames");
  wait_until([&] { return ask({{"command", "status"}}).at("frames") > frames; });
  write_configuration("-1");
  kill(process_, SIGHUP);
  wait_until([this] { return log().find("last good configuration goes on") != std::string::npos; });
  EXPECT_THAT(log(), HasSubstr("medium.sound_speed_m_s"));
  EXPECT_EQ(ask({{"command", "status"}}).at("epoch"), 2);
  kill(process_, SIGTERM);
  EXPECT_EQ(wait(), 0) << log();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "control.sock"));
}

TEST_F(NearfielddTest, NewSettingsTakeEffectOrAreRefusedWithTheReason) {
  start_live();
  EXPECT_EQ(ask({{"command", "set"}, {"settings", {"medium.sound_speed_m_s=341"}}}).at("epoch"), 2);
  const auto refused = [this](const std::string& setting) {
    try {
      ask({{"command", "set"}, {"settings", {setting}}});
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadConfig);
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refused("holography.standoff=0.05"), HasSubstr("did you mean holography.standoff_m?"));
  EXPECT_THAT(refused("front_end.frequencies_hz=[1e6]"), HasSubstr("front_end.frequencies_hz"));
  EXPECT_THAT(refused("daemon.source.loop=false"), HasSubstr("daemon.source: expected no change"));
  EXPECT_EQ(ask({{"command", "status"}}).at("epoch"), 2);
  EXPECT_EQ(ask({{"command", "reload"}}).at("epoch"), 3);
  EXPECT_EQ(stop(), 0);
}

// As a controller sees it that reads every frame: each follows as many hops behind the one before as the sequence says.
TEST_F(NearfielddTest, NewSettingsLoseNoHop) {
  start_live();
  nf_ring* ring = nullptr;
  ASSERT_EQ(nf_ring_open((folder_ / "frames.sock").c_str(), &ring), NF_RING_OK);
  auto set = std::async(std::launch::async, [this] {
    return ask({{"command", "set"}, {"settings", {"medium.sound_speed_m_s=341"}}});
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
  ask({{"command", "record"}, {"action", "start"}, {"name", "take"}});
  wait_until([this] { return ask({{"command", "status"}}).at("recording").at("bytes") > 1'000'000; });
  const json done = ask({{"command", "record"}, {"action", "stop"}});
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
  EXPECT_EQ(ask({{"command", "status"}}).at("recording").at("state"), "armed");
  ask({{"command", "record"}, {"action", "trigger"}});
  wait_until([this] { return ask({{"command", "status"}}).at("recording").at("bytes") > 100'000; });
  EXPECT_THROW(ask({{"command", "record"}, {"action", "start"}}), Error);
  EXPECT_EQ(stop(), 0);
}

TEST_F(NearfielddTest, ARecordingThatCannotBeWrittenSaysWhyAndFramesGoOn) {
  start_live("--set daemon.recording.directory=" + (folder_ / "capture.h5"));
  EXPECT_THROW(ask({{"command", "record"}, {"action", "start"}}), Error);
  const json frames = ask({{"command", "status"}}).at("frames");
  wait_until([&] { return ask({{"command", "status"}}).at("frames") > frames; });
  EXPECT_EQ(stop(), 0);
}

// The deadline is 300 ms here; what is asked is that the process ends by itself and with its own code.
TEST_F(NearfielddTest, AHungFrameEndsTheProcess) {
  EXPECT_EQ(run("--set daemon.deadlines.frame_ms=300", "NEARFIELDD_FAULT=hang:5"), 75) << log();
  EXPECT_THAT(log(), HasSubstr("a frame has not ended after 3"));
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
  EXPECT_THAT(log(), HasSubstr("nearfieldd.yaml:3: daemon.no_input.after: unknown key; did you mean"));
  EXPECT_EQ(run(""), 78);
  std::filesystem::remove(folder_ / "nearfieldd.yaml");
  EXPECT_EQ(run("--check"), 66);
  EXPECT_EQ(run("--nonsense"), 64);
}

TEST_F(NearfielddTest, NoInputIsDeclaredAndMayBeAFault) {
  start("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 --set daemon.no_input.after_ms=50");
  wait_until([this] { return ask({{"command", "status"}}).at("state") == "no input"; });
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(run("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0 "
                "--set daemon.no_input.after_ms=50 --set daemon.no_input.is_fault=true"),
            66)
      << log();
}

TEST_F(NearfielddTest, AStreamOverUdpIsConserved) {
  start("--set daemon.source.kind=udp --set daemon.source.address=127.0.0.1:0" + summary_option());
  json port;
  wait_until([&] {
    port = ask({{"command", "status"}}).at("port");
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
