#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "files/files.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recorded_bits.hpp"
#include "support/recordings.hpp"

/// `nearfield replay --config-of RUN`.
namespace nearfield {
namespace {

using testing::HasSubstr;

constexpr double kTone_hz = 976.5625;  // bin 4 of 192 samples

class ConfigOf : public testing::Test {
 protected:
  void SetUp() override {
    test::write_random_capture(folder_ / "capture.h5", 32 * 256);
    const test::CommandResult made =
        replay("capture.h5", "run.h5",
               "--set front_end.window_samples=192 --set front_end.frequencies_hz=[976.5625] "
               "--set holography.extrapolation.order=4 --set medium.sound_speed_m_s=338 "
               "--set holography.quantity=displacement");
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  /// By the reference engine, which compiles nothing.
  [[nodiscard]] test::CommandResult replay(const std::string& input, const std::string& output,
                                           const std::string& options) const {
    return test::run_nearfield("replay " + (folder_ / input) + " -o " + (folder_ / output) +
                               " --engine reference --frames 2 " + options);
  }
  [[nodiscard]] std::string of(const std::string& run) const { return "--config-of " + (folder_ / run) + " "; }
  /// An images file that says nothing but this of itself.
  void write_images(const std::string& name, const std::string& config) const {
    ImagesHeader header = ImagesReader(folder_ / "run.h5").header();
    header.config = config;
    ImagesWriter writer(folder_ / name, header, 1);
    writer.write(ImagesReader(folder_ / "run.h5").read(0));
    writer.finish();
  }

  test::TemporaryFolder folder_;
};

TEST_F(ConfigOf, ARunIsRepeatedWithItsSettings) {
  const test::CommandResult result = replay("capture.h5", "again.h5", of("run.h5"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("settings: those that " + (folder_ / "run.h5") + " carries"));
  const ImagesReader run(folder_ / "run.h5");
  const ImagesReader again(folder_ / "again.h5");
  EXPECT_EQ(again.header().config, run.header().config);
  EXPECT_EQ(again.read(1).images, run.read(1).images);
  EXPECT_EQ(again.header().quantity, "displacement");
}

TEST_F(ConfigOf, SetWinsOverIt) {
  const test::CommandResult result =
      replay("capture.h5", "again.h5", of("run.h5") + "--set holography.quantity=pressure");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ImagesReader again(folder_ / "again.h5");
  EXPECT_EQ(again.header().quantity, "pressure");
  EXPECT_THAT(again.header().config, HasSubstr("sound_speed_m_s: 338"));
}

// Time data say nothing of their array: that of the run counts as given.
TEST_F(ConfigOf, TimeDataHaveTheArrayOfTheRun) {
  write_time_data(folder_ / "time.h5", 46875.0, 64, test::monopole_samples(400, kTone_hz));
  EXPECT_EQ(replay("time.h5", "without.h5", "--set front_end.kind=decimated_fft").exit_code, 78);
  const test::CommandResult result = replay("time.h5", "again.h5", of("run.h5"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(ImagesReader(folder_ / "again.h5").header().x_m, ImagesReader(folder_ / "run.h5").header().x_m);
}

// Of a recording, as of an images file: another input is imaged with the settings that it carries.
TEST_F(ConfigOf, ARecordingsSettingsAreThoseOfItsRun) {
  test::write_recording_of_bits(folder_ / "take.nfr", test::kRecordedSettings, 32 * 256);
  const test::CommandResult result =
      replay("capture.h5", "again.h5", of("take.nfr") + "--set medium.sound_speed_m_s=350");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("settings: those that " + (folder_ / "take.nfr") + " carries, of epoch 1 and --set"));
  const ImagesReader again(folder_ / "again.h5");
  EXPECT_EQ(again.header().frequencies_hz, std::vector<double>{1464.84375});
  EXPECT_EQ(again.header().quantity, "displacement");
  EXPECT_THAT(again.header().config, HasSubstr("sound_speed_m_s: 350"));
  test::write_recording_of_bits(folder_ / "bare.nfr", "", 32 * 256);
  const test::CommandResult bare = replay("capture.h5", "x.h5", of("bare.nfr"));
  EXPECT_EQ(bare.exit_code, 65);
  EXPECT_THAT(bare.output, HasSubstr("bare.nfr: found no settings in it"));
}

TEST_F(ConfigOf, WhatCarriesNoSettingsIsRefused) {
  const test::CommandResult capture = replay("capture.h5", "x.h5", of("capture.h5"));
  EXPECT_EQ(capture.exit_code, 65);
  EXPECT_THAT(capture.output, HasSubstr("found capture, expected images or a recording (.nfr)"));
  write_images("empty.h5", "");
  const test::CommandResult empty = replay("capture.h5", "x.h5", of("empty.h5"));
  EXPECT_EQ(empty.exit_code, 65);
  EXPECT_THAT(empty.output, HasSubstr("empty.h5: found no settings in it"));
  write_images("later.h5", "version: 2\n");
  const test::CommandResult later = replay("capture.h5", "x.h5", of("later.h5"));
  EXPECT_EQ(later.exit_code, 78);
  EXPECT_THAT(later.output, HasSubstr("later.h5: the settings it carries:1:10: version: expected 1, found \"2\""));
  EXPECT_EQ(replay("capture.h5", "x.h5", of("none.h5")).exit_code, 66);
  EXPECT_EQ(replay("capture.h5", "x.h5", of("run.h5") + "-c " + (folder_ / "c.yaml")).exit_code, 64);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.h5"));
}

TEST_F(ConfigOf, TheRunIsNotOverwritten) { EXPECT_EQ(replay("capture.h5", "run.h5", of("run.h5")).exit_code, 64); }

}  // namespace
}  // namespace nearfield
