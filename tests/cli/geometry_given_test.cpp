#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "files/files.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/recordings.hpp"

// What a recording does not say of its array the user says: nothing is assumed, and what was said can be corrected.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kTone_hz = 1464.84375;
const std::string kWindow = " --set front_end.window_samples=96 --set front_end.frequencies_hz=[1464.84375] ";

class GeometryGiven : public testing::Test {
 protected:
  void SetUp() override { write_time_data(time_, 46875.0, 64, test::monopole_samples(192, kTone_hz)); }
  /// The output of a command that must end with this code.
  std::string said(const std::string& arguments, int exit_code = 0) const {
    const auto result = test::run_nearfield(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << arguments << ": " << result.output;
    return result.output;
  }
  test::TemporaryFolder folder_;
  std::string time_ = folder_ / "time.h5";
  std::string to_ = " -o " + (folder_ / "out.h5") + " ";
};

constexpr const char* kRows = "--set array.rows=ROWS --set array.columns=COLUMNS";
constexpr const char* kPitch = "--set array.pitch_x_m=METRES --set array.pitch_y_m=METRES";
constexpr const char* kStandoff = "--set holography.standoff_m=METRES";

TEST_F(GeometryGiven, TimeDataWithoutOneAreRefusedWithTheLinesThatGiveIt) {
  for (const std::string command : {"replay", "encode"}) {
    EXPECT_THAT(said(command + " " + time_ + to_, 78),
                AllOf(HasSubstr("time.h5 has 64 channels"), HasSubstr(kRows), HasSubstr(kPitch), HasSubstr(kStandoff)))
        << command;
  }
  EXPECT_THAT(said("inspect " + time_), AllOf(HasSubstr("not judged"), HasSubstr(kRows), HasSubstr(kStandoff)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5"));
}

TEST_F(GeometryGiven, OnlyWhatIsMissingIsAskedFor) {
  EXPECT_THAT(said("replay " + time_ + to_ + "--set array.rows=8 --set array.columns=8", 78),
              AllOf(Not(HasSubstr(kRows)), HasSubstr(kPitch), HasSubstr(kStandoff)));
  (void)said("replay " + time_ + to_ + kWindow + test::kSmallArrayOptions);
}

TEST_F(GeometryGiven, EncodedTimeDataCanBeCorrectedLater) {
  const std::string capture = folder_ / "bits.h5";
  (void)said("encode " + time_ + " -o " + capture + test::kSmallArrayOptions);
  const std::string replay = "replay " + capture + to_ + kWindow;
  const std::string corrected = said(replay + "--set holography.standoff_m=0.05 --set array.pitch_x_m=0.03");
  EXPECT_THAT(corrected, AllOf(HasSubstr("holography.standoff_m: 0.05 m, as the settings say, corrects the 0.03 m"),
                               HasSubstr("array.pitch_x_m: 0.03 m")));
  const ImagesHeader header = ImagesReader(folder_ / "out.h5").header();
  EXPECT_THAT(header.config, HasSubstr("standoff_m: 0.05"));
  EXPECT_NEAR(header.x_m[1] - header.x_m[0], 0.03, 1e-12);
  EXPECT_THAT(said(replay + "--set array.rows=16", 78), HasSubstr("array.rows")) << "the bits' own order";
}

// What a simulated or measured capture says of itself is a fact: a setting that disagrees is a mistake.
TEST_F(GeometryGiven, OtherCapturesAreNotCorrected) {
  test::write_random_capture(folder_ / "c.h5", 32 * 128);
  EXPECT_THAT(said("replay " + (folder_ / "c.h5") + to_ + kWindow + "--set holography.standoff_m=0.05", 78),
              HasSubstr("was recorded with 0.03"));
}

TEST_F(GeometryGiven, AFrequencyOffTheGridIsNamedOnceWithWhatImagesIt) {
  const std::string output = said("replay " + time_ + to_ + test::kSmallArrayOptions +
                                  "--set front_end.window_samples=96 --set front_end.frequencies_hz=[1000]");
  EXPECT_THAT(output, AllOf(HasSubstr("1000 Hz is off the grid of 488.281 Hz"), HasSubstr("976.562 Hz, the nearest"),
                            HasSubstr("front_end.kind: dot_product images any frequency")));
  EXPECT_EQ(output.find("off the grid"), output.rfind("off the grid"));
}

// Of a frequency above what the array resolves one warning is enough: it stands beside its numbers.
TEST_F(GeometryGiven, AFrequencyThatIsTooHighIsWarnedOfOnce) {
  const std::string output = said("replay " + time_ + to_ + test::kSmallArrayOptions +
                                  "--set front_end.window_samples=96 --set front_end.frequencies_hz=[12207.03125]");
  EXPECT_THAT(output, HasSubstr("lies above pi/pitch"));
  EXPECT_THAT(output, Not(HasSubstr("flagged: k above")));
}

TEST_F(GeometryGiven, ASoundFileIsSentToEncode) {
  const std::string sound = folder_ / "sound.flac";
  std::ofstream(sound) << "fLaC" + std::string(100, '\0');
  for (const std::string& command : {"replay " + sound + to_, "inspect " + sound}) {
    EXPECT_THAT(said(command, 65), AllOf(HasSubstr("it is a sound file"), HasSubstr("nearfield encode " + sound)));
  }
}

}  // namespace
}  // namespace nearfield
