#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "daemon/nearfieldd_process.hpp"
#include "files/files.hpp"

/// Limits of a daemon that plays a tone whose amplitude is known at any time.
namespace nearfield {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double kTone_hz = 1464.84375;  // bin 4 of 128 samples
constexpr int kChannels = 64;
constexpr std::size_t kSamplesOfAPart = 2048;  // 16 windows

/// The same tone at all microphones, with one amplitude after the other, Pa.
void write_tone(const std::string& path, const std::vector<double>& amplitudes_pa) {
  const double rate_hz = kBitRateHz / kBitsPerWord;
  std::vector<float> values;
  for (std::size_t n = 0; n < amplitudes_pa.size() * kSamplesOfAPart; ++n) {
    const double phase = 2.0 * std::numbers::pi * kTone_hz * static_cast<double>(n) / rate_hz;
    values.insert(values.end(), kChannels, static_cast<float>(amplitudes_pa[n / kSamplesOfAPart] * std::cos(phase)));
  }
  write_time_data(path, rate_hz, kChannels, values);
}

std::size_t times_in(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++times;
  }
  return times;
}

class LiveLimits : public test::NearfielddTest {
 protected:
  void SetUp() override {
    // The amplitude crosses 1 Pa six times; of the windows between two parts none is below the lower one.
    write_tone(folder_ / "tone.h5", {0.3, 1.1, 0.8, 1.5, 0.7, 1.2, 0.3});
    std::ofstream(folder_ / "nearfieldd.yaml")
        << "version: 1\n"
           "array: {rows: 8, columns: 8, pitch_x_m: 0.02, pitch_y_m: 0.02, health: {enabled: false}}\n"
           "front_end: {kind: decimated_fft, window_samples: 128, hop_samples: 64, frequencies_hz: [1464.84375]}\n"
           "holography: {imager: none, standoff_m: 0.03}\n"
           "processors: {centre: {kind: spectrum, window_samples: 128, taper: hann}}\n"
           "daemon:\n"
           "  source: {kind: file, path: tone.h5, pace: fast}\n"
           "  publish: {ring: {socket: frames.sock}}\n"
           "  control: {socket: control.sock}\n"
           "  recording: {directory: .}\n"
           "  deadlines: {frame_ms: 60000}\n"
           "  metrics: {address: off}\n"
           "  limits:\n"
           "    loud: {processor: centre, product: spectrum, frequency_hz: 1465, above: 1, hysteresis_db: 6}\n";
  }
};

// 6 dB less than 1 Pa is 0.5 Pa.
TEST_F(LiveLimits, ALimitIsExceededOnceAndLeftOnce) {
  ASSERT_EQ(run(""), 0) << log();
  EXPECT_EQ(times_in(log(), "limit loud is exceeded: "), 1U) << log();
  EXPECT_EQ(times_in(log(), "limit loud is left: "), 1U) << log();
  EXPECT_THAT(log(), HasSubstr("cause=limit"));
}

TEST_F(LiveLimits, EventsNameTimeValueAndPlace) {
  start_live();
  const auto events = [this] { return call({{"command", "events"}}).at("events"); };
  wait_until([&] { return events().size() >= 2; });
  const json found = events();
  const json& begin = found.at(0);
  const json& end = found.at(1);
  EXPECT_EQ(begin.at("event"), "begin");
  EXPECT_EQ(begin.at("name"), "loud");
  EXPECT_EQ(begin.at("unit"), "Pa");
  EXPECT_GT(begin.at("value"), 1.0);
  EXPECT_LT(begin.at("value"), 1.11) << "the first part above has 1.1 Pa";
  EXPECT_EQ(begin.at("position").at("frequency"), kTone_hz);
  EXPECT_EQ(end.at("event"), "end");
  EXPECT_LE(end.at("value").get<double>(), std::pow(10.0, -0.3));
  // A window of one part has its amplitude but for rounding; one of two parts also holds a little of the tone's other
  // side, less than 1 %.
  EXPECT_NEAR(end.at("largest").get<double>(), 1.5, 0.015);
  EXPECT_GE(end.at("tai_ns"), begin.at("tai_ns"));
  const json limit = call({{"command", "status"}}).at("limits").at(0);
  EXPECT_EQ(limit.at("name"), "loud");
  EXPECT_GE(limit.at("events"), 1);
  EXPECT_EQ(stop(), 0);
}

TEST_F(LiveLimits, WhatNoProcessorHasIsRefusedByNameAndTheLastConfigurationGoesOn) {
  EXPECT_EQ(run("--set daemon.limits.loud.product=images"), 78);
  EXPECT_THAT(log(),
              HasSubstr("daemon.limits.loud.product: expected one of spectrum, microphone, which centre makes, found "
                        "\"images\""));
  EXPECT_EQ(run("--set daemon.limits.loud.processor=far"), 78);
  EXPECT_THAT(log(), HasSubstr("daemon.limits.loud.processor: expected a processor of the section processors, found "
                               "\"far\""));
  EXPECT_EQ(run("--set daemon.limits.loud.record=true"), 78);
  EXPECT_THAT(log(), HasSubstr("daemon.limits.loud.record: true expects daemon.recording.trigger: limit, found none"));
  start_live();
  try {
    call({{"command", "set"}, {"settings", {"daemon.limits.loud.frequency_hz=2000"}}});
    ADD_FAILURE() << "2000 Hz are not in the spectra";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadConfig);
    EXPECT_THAT(error.what(), HasSubstr("daemon.limits.loud.frequency_hz: expected one of the product's frequencies"));
  }
  call({{"command", "set"},
        {"settings",
         {"daemon.limits.quiet.processor=centre", "daemon.limits.quiet.product=spectrum",
          "daemon.limits.quiet.above=9"}}});
  EXPECT_EQ(call({{"command", "status"}}).at("limits").size(), 2U);
  EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace nearfield
