#include "audio/capture.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/system/clocks.hpp"
#include "support/command.hpp"

/// ALSA's own drivers, which need no hardware: what they play is a file's content, as fast as it is written.
namespace nearfield::audio {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

constexpr double kRate_hz = 48000.0;
constexpr int kPatienceMs = 10'000;

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    std::ofstream(folder_ / "alsa.conf") << "</usr/share/alsa/alsa.conf>\n"
                                            "pcm.played { type file slave.pcm null file /dev/null infile \""
                                         << pipe_ << "\" format raw }\n"
                                         << multi_of("three", 3)
                                         << "pcm.played_of_three { type file slave.pcm three file "
                                         << "/dev/null infile \"" << pipe_ << "\" format raw }\n";
    setenv("ALSA_CONFIG_PATH", (folder_ / "alsa.conf").c_str(), 1);
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
    keeper_ = open(pipe_.c_str(), O_RDWR | O_CLOEXEC);  // the device never finds its end
  }
  ~CaptureTest() override {
    close(keeper_);
    unsetenv("ALSA_CONFIG_PATH");
  }

  /// A device of so many channels and no other number of them.
  static std::string multi_of(const std::string& name, int channels) {
    std::string text = "pcm." + name + " { type multi slaves.a { pcm null channels " + std::to_string(channels) + " }";
    for (int channel = 0; channel < channels; ++channel) {
      text += " bindings." + std::to_string(channel) + " { slave a channel " + std::to_string(channel) + " }";
    }
    return text + " }\n";
  }

  void play(const std::vector<std::int32_t>& words) const {
    ASSERT_EQ(write(keeper_, words.data(), words.size() * sizeof(std::int32_t)),
              static_cast<ssize_t>(words.size() * sizeof(std::int32_t)));
  }

  /// So many values of a device, whose driver puts zeros behind what it was given.
  static std::vector<float> taken(Capture& capture, std::size_t count) {
    std::vector<float> values;
    for (int turn = 0; turn < kPatienceMs && values.size() < count; ++turn) {
      const Capture::Samples samples = capture.read(1);
      EXPECT_FALSE(samples.follows_an_overrun);
      values.insert(values.end(), samples.values.begin(), samples.values.end());
    }
    values.resize(std::min(values.size(), count));
    return values;
  }

  static std::string refusal(const CaptureSettings& settings) {
    try {
      const Capture capture(settings);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  std::string pipe_ = folder_ / "pipe";
  int keeper_ = -1;
};

TEST_F(CaptureTest, DeliversWhatTheDeviceHas) {
  std::vector<std::int32_t> words;
  std::vector<float> expected;
  for (int i = 0; i < 1024; ++i) {
    words.push_back((i - 512) * (1 << 22));
    expected.push_back(static_cast<float>(i - 512) / 512.0F);
  }
  Capture capture({.device = "played", .sample_rate_hz = kRate_hz, .microphones = 4});
  EXPECT_THAT(capture.form(), HasSubstr("s32 of 4 channels"));
  play(words);
  const std::int64_t before_ns = monotonic_ns();
  EXPECT_EQ(taken(capture, words.size()), expected);
  play(words);
  const Capture::Samples samples = capture.read(kPatienceMs);
  EXPECT_FALSE(samples.values.empty());
  EXPECT_GE(samples.newest_ns, before_ns - 500'000'000);  // its driver says that half a second waits behind them
  EXPECT_LE(samples.newest_ns, monotonic_ns());
}

TEST_F(CaptureTest, ChosenChannelsOfADeviceWithMore) {
  Capture capture({.device = "played_of_three", .sample_rate_hz = kRate_hz, .microphones = 2, .channels = {2, 0}});
  EXPECT_THAT(capture.form(), HasSubstr("of 3 channels"));
  play({1 << 30, 2 << 28, 3 << 28, 1 << 29, -(1 << 30), -(1 << 29)});
  EXPECT_EQ(taken(capture, 4), (std::vector<float>{0.375F, 0.5F, -0.25F, 0.25F}));
}

TEST_F(CaptureTest, WhatADeviceHasNotIsSaid) {
  EXPECT_THAT(refusal({.device = "hw:UMA16", .sample_rate_hz = kRate_hz, .microphones = 16}),
              testing::AllOf(HasSubstr("daemon.source.device: hw:UMA16: "),
                             HasSubstr("`nearfield devices --audio` lists what there is")));
  EXPECT_THAT(refusal({.device = "three", .sample_rate_hz = kRate_hz, .microphones = 16}),
              HasSubstr("array.rows, array.columns: expected at least 16 channels of three, found 3 channels"));
  EXPECT_THAT(refusal({.device = "three", .sample_rate_hz = kRate_hz, .microphones = 2}),
              HasSubstr("array.channels: expected those of the 3 channels of three that are its 2 microphones"));
  EXPECT_THAT(refusal({.device = "three", .sample_rate_hz = kRate_hz, .microphones = 2, .channels = {0, 7}}),
              HasSubstr("array.channels: expected at least 8 channels of three, found 3 channels"));
  EXPECT_THAT(refusal({.device = "three", .sample_rate_hz = 46875.5, .microphones = 3}),
              testing::AllOf(HasSubstr("daemon.source.sample_rate_hz: expected a rate of three"), HasSubstr("48000"),
                             HasSubstr("found 46875.5")));
}

TEST_F(CaptureTest, TheListHasWhatTheConfigurationNames) {
  std::ofstream(folder_ / "alsa.conf", std::ios::app)
      << "pcm.named { type null hint { show on description \"A device of this test\" } }\n";
  const std::vector<DeviceFacts> devices = list_devices();
  const auto named =
      std::find_if(devices.begin(), devices.end(), [](const DeviceFacts& one) { return one.name == "named"; });
  ASSERT_NE(named, devices.end());
  EXPECT_EQ(named->description, "A device of this test");
  EXPECT_EQ(named->flaw, "");
  EXPECT_THAT(named->rates_hz, testing::Contains(48000.0));
  EXPECT_THAT(text_of(*named), HasSubstr("48000"));
}

}  // namespace
}  // namespace nearfield::audio
