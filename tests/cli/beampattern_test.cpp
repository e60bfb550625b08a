#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "files/results_file.hpp"
#include "support/command.hpp"

/// `nearfield beampattern`, and the settings `focus` and `sectors`, as a user runs them.
namespace nearfield {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kLineOfSixtyFour =
    "beampattern --set array.rows=1 --set array.columns=64 --set array.pitch_x_m=0.375 --set "
    "medium.sound_speed_m_s=1500 --set processors.line.kind=beamform --set processors.line.grid.kind=line --set "
    "processors.line.grid.distance_m=inf";

TEST(BeampatternCommand, WritesThePublishedLine) {
  const test::TemporaryFolder folder;
  const test::CommandResult result =
      test::run_nearfield(kLineOfSixtyFour + " --source 30,0 --frequency 2000 -o " + (folder / "p.h5"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("maximum              angle 59.8826 deg"), HasSubstr("highest side lobe    -13.2"),
                    HasSubstr("at angle 57.0646 deg"), HasSubstr("white-noise gain     18.06 dB"),
                    HasSubstr("directivity          18.06 dB")));
  const ResultsReader reader(folder / "p.h5");
  ASSERT_EQ(reader.processors(), 1U);
  const ResultHeader& header = reader.header(0);
  EXPECT_EQ(header.processor, "line");
  EXPECT_EQ(header.products[0].name, "pattern");
  const ResultFrame frame = reader.read(0, 0);
  const auto pattern = values_of<float>(frame.frame.products[0]);
  ASSERT_EQ(pattern.size(), 512U);
  EXPECT_EQ(std::max_element(pattern.begin(), pattern.end()) - pattern.begin(), 170);
  EXPECT_EQ(pattern[170], 1.0F);
  const auto lobe = static_cast<std::size_t>(std::distance(
      header.products.begin(), std::find_if(header.products.begin(), header.products.end(),
                                            [](const Product& one) { return one.name == "side_lobe_db"; })));
  ASSERT_LT(lobe, header.products.size());
  EXPECT_NEAR(values_of<float>(frame.frame.products[lobe])[0], 10.0 * std::log10(static_cast<double>(pattern[162])),
              1e-4);
  const test::CommandResult inspected = test::run_nearfield("inspect " + (folder / "p.h5"));
  EXPECT_EQ(inspected.exit_code, 0) << inspected.output;
  EXPECT_THAT(inspected.output, AllOf(HasSubstr("pattern"), HasSubstr("line")));
  const test::CommandResult compared = test::run_nearfield("compare " + (folder / "p.h5") + " " + (folder / "p.h5"));
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
  EXPECT_THAT(compared.output, HasSubstr("pattern"));
  const test::CommandResult drawn =
      test::run_nearfield("pictures " + (folder / "p.h5") + " -o " + (folder / "drawn") + " --db");
  EXPECT_EQ(drawn.exit_code, 0) << drawn.output;
}

TEST(BeampatternCommand, MapsAPoint) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "c.yaml") << "version: 1\nholography: {standoff_m: 0.03}\nprocessors:\n"
                                      "  far: {kind: beamform, grid: {distance_m: [0.5, 1.0], step_m: 0.05}}\n"
                                      "  levels: {kind: spectrum}\n";
  const test::CommandResult result = test::run_nearfield(
      "beampattern -c " + (folder / "c.yaml") + " --processor far --source 0.1,-0.2,-0.97 " +
      "--frequency 4000 --png " + (folder / "maps") + " --db --range 30 --set 'front_end.bands_hz=[[900,1100]]'");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("far: 1024 microphones, 882 pixels, 4000 Hz, a point at (0.1, -0.2, -0.97) m"),
                    HasSubstr("distance 1 m, y -0.2 m, x 0.1 m"), HasSubstr("half-power width     x 0.1"),
                    HasSubstr("2 pictures")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "maps"), {}), 2);
}

TEST(BeampatternCommand, RefusesWhatItCannotShow) {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& arguments, int code) {
    const test::CommandResult result = test::run_nearfield(arguments + " -o " + (folder / "p.h5"));
    EXPECT_EQ(result.exit_code, code) << result.output;
    EXPECT_FALSE(std::filesystem::exists(folder / "p.h5"));
    return result.output;
  };
  const std::string wave = " --source 30,0 --frequency 2000";
  EXPECT_THAT(refusal("beampattern" + wave, 78), HasSubstr("processors: expected one of kind beamform, found 0"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --set processors.b.kind=beamform" + wave, 78),
              HasSubstr("expected one of kind beamform, or --processor, found 2"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --processor line2" + wave, 78), HasSubstr("found \"line2\""));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --source 30,0 --frequency 0", 64),
              HasSubstr("--frequency: expected a frequency > 0 Hz"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --source 30,0 --frequency nan", 64), HasSubstr("--frequency: expected"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --source 60,60 --frequency 2000", 64),
              HasSubstr("--source: expected AZIMUTH,ELEVATION"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --source 0,0,1 --frequency 2000", 64),
              HasSubstr("with Z below the microphones"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + " --source 30 --frequency 2000", 64), HasSubstr("--source"));
  EXPECT_THAT(refusal("beampattern -c " + (folder / "none.yaml") + wave, 66), HasSubstr("none.yaml"));
  EXPECT_THAT(refusal(kLineOfSixtyFour + wave + " --range 5", 64), HasSubstr("--range: goes with --db"));
}

/// What settings of a beamformer are refused with.
std::string refusal_of(const std::string& options) {
  const test::CommandResult result =
      test::run_nearfield("beampattern --source 0,0 --frequency 2000 --set processors.far.kind=beamform " + options);
  EXPECT_EQ(result.exit_code, 78) << result.output;
  return result.output;
}

std::string sectors_refusal(const std::string& sectors, const std::string& options = "") {
  return refusal_of(options + " --set 'processors.far.sectors=" + sectors + "'");
}

TEST(FocusSettings, AreRefusedWithoutPlanes) {
  const std::string focus = "--set processors.far.focus=max --set processors.far.";
  EXPECT_THAT(refusal_of(focus + "path=auto"),
              HasSubstr("processors.far.focus: expected none, or at least two planes to look for the largest in, found "
                        "max with one plane of grid.kind: plane"));
  EXPECT_THAT(refusal_of(focus + "grid.kind=angles --set processors.far.grid.distance_m=inf"),
              HasSubstr("found max with grid.distance_m: inf"));
  EXPECT_THAT(refusal_of(focus + "grid.kind=points --set processors.far.grid.points=p.csv"),
              HasSubstr("found max with grid.kind: points"));
  EXPECT_THAT(refusal_of(focus + "steering.model=measured --set processors.far.steering.file=t.h5"),
              HasSubstr("found max with model: measured"));
  EXPECT_THAT(refusal_of(focus + "steering.model=plane_wave --set processors.far.grid.distance_m=[1,2]"),
              HasSubstr("found max with model: plane_wave"));
  EXPECT_THAT(refusal_of(focus + "steering.reference=1 --set processors.far.grid.distance_m=[1,2]"),
              HasSubstr("processors.far.steering.reference: expected array_centre"));
  EXPECT_THAT(refusal_of("--set processors.far.focus=min"), HasSubstr("processors.far.focus"));
}

TEST(SectorSettings, AreRefusedWhereTheGridDoesNotHoldThem) {
  const std::string good = "{name: a, x_m: [-0.5, 0], y_m: [-0.1, 0.1]}";
  EXPECT_THAT(sectors_refusal("[{name: a, x_m: [-0.5, 0.6], y_m: [0, 0.1]}]"),
              HasSubstr("processors.far.sectors[0]: expected x_m inside the grid's pixels, which reach from -0.51 to "
                        "0.51 m, found [-0.5, 0.6]"));
  EXPECT_THAT(sectors_refusal("[" + good + ", {name: b, x_m: [0, 0.1], y_m: [0.005, 0.015]}]"),
              HasSubstr("processors.far.sectors[1]: expected y_m that holds a pixel, found [0.005, 0.015]"));
  EXPECT_THAT(sectors_refusal("[" + good + ", " + good + "]"),
              HasSubstr("processors.far.sectors[1].name: expected a name that no other sector has, found \"a\""));
  EXPECT_THAT(sectors_refusal("[{x_m: [0, 0.1], y_m: [0, 0.1]}]"),
              HasSubstr("processors.far.sectors[0].name: expected"));
  EXPECT_THAT(sectors_refusal("[{name: \"\", x_m: [0, 0.1], y_m: [0, 0.1]}]"),
              HasSubstr("processors.far.sectors[0].name: expected"));
  EXPECT_THAT(sectors_refusal("[{name: a, x_m: [0.1, 0], y_m: [0, 0.1]}]"),
              HasSubstr("processors.far.sectors[0].x_m: expected [first, last], the first not above the last"));
  EXPECT_THAT(sectors_refusal("[{name: a, x_m: [0, .nan], y_m: [0, 0.1]}]"),
              HasSubstr("processors.far.sectors[0].x_m"));
  EXPECT_THAT(sectors_refusal("[{name: a, x_m: [0, 0.1]}]"), HasSubstr("processors.far.sectors[0].y_m: expected"));
  EXPECT_THAT(sectors_refusal("[{name: a, x_m: [0, 0.1], y_m: [0, 0.1], z_m: [0, 1]}]"), HasSubstr("z_m"));
  EXPECT_THAT(sectors_refusal("left"), HasSubstr("processors.far.sectors: expected a list of sectors"));
  EXPECT_THAT(sectors_refusal("[{name: a, azimuth_deg: [0, 10], elevation_deg: [0, 10]}]"),
              HasSubstr("expected x_m and y_m with grid.kind: plane, found azimuth_deg and elevation_deg"));
  EXPECT_THAT(sectors_refusal("[" + good + "]", "--set processors.far.grid.kind=line"),
              HasSubstr("expected angle_deg with grid.kind: line, found x_m and y_m"));
  EXPECT_THAT(sectors_refusal("[" + good + "]", "--set processors.far.method=capon"),
              HasSubstr("processors.far.sectors: expected none with method: capon"));
  EXPECT_THAT(sectors_refusal("[" + good + "]", "--set processors.far.method=music"),
              HasSubstr("processors.far.sectors: expected none with method: music"));
  EXPECT_THAT(
      sectors_refusal("[" + good + "]", "--set processors.far.grid.kind=points --set processors.far.grid.points=p.csv"),
      HasSubstr("processors.far.sectors: expected none with grid.kind: points"));
  std::string many = "[";
  for (int i = 0; i < 65; ++i) {
    many += (i == 0 ? "{name: s" : ", {name: s") + std::to_string(i) + ", x_m: [0, 0.1], y_m: [0, 0.1]}";
  }
  EXPECT_THAT(sectors_refusal(many + "]"), HasSubstr("processors.far.sectors: expected at most 64 sectors (found 65)"));
}

// From bits to a file: two tones of two monopoles, each in its sector and on its plane.
TEST(FocusAndSectors, AreInTheFileOfAReplay) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "scene.yaml")
      << "version: 1\narray: {rows: 16, columns: 16, pitch_x_m: 0.03, pitch_y_m: 0.03}\nstandoff_m: 0.03\n"
         "duration_s: 0.08\nsources:\n"
         "  - {kind: monopole, frequency_hz: 4028.32, volume_velocity_m3_s: 2.0e-4, x_m: -0.2, y_m: 0, z_m: -0.37}\n"
         "  - {kind: monopole, frequency_hz: 5035.4, volume_velocity_m3_s: 2.0e-4, x_m: 0.2, y_m: 0.1, z_m: -0.57}\n";
  ASSERT_EQ(test::run_nearfield("simulate " + (folder / "scene.yaml") + " -o " + (folder / "c.h5")).exit_code, 0);
  std::ofstream(folder / "c.yaml")
      << "version: 1\nfront_end: {frequencies_hz: [4028.32, 5035.4]}\nprocessors:\n  far:\n    kind: beamform\n"
         "    every_hops: 16\n    focus: max\n    average: {kind: linear, seconds: 0.03}\n"
         "    steering: {formulation: true_location, shading: hann}\n"
         "    grid: {distance_m: [0.25, 0.4, 0.6], x_m: [-0.4, 0.4], y_m: [-0.2, 0.2], step_m: 0.05}\n"
         "    sectors:\n      - {name: left side, x_m: [-0.3, -0.1], y_m: [-0.15, 0.15]}\n"
         "      - {name: right side, x_m: [0.1, 0.3], y_m: [-0.05, 0.2]}\n";
  const test::CommandResult result =
      test::run_nearfield("replay " + (folder / "c.h5") + " -c " + (folder / "c.yaml") + " -o " + (folder / "i.h5") +
                          " --png " + (folder / "png") + " --db --frames 17");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const ResultsReader reader(folder / "i.h5");
  const ResultHeader& header = reader.header(1);
  ASSERT_EQ(header.products.size(), 4U);
  EXPECT_EQ(header.products[0].axes, std::vector<std::string>({"frequency", "y", "x"}));
  EXPECT_EQ(header.products[1].name, "focus_m");
  EXPECT_EQ(header.products[2].axes, std::vector<std::string>({"frequency", "distance", "sector"}));
  EXPECT_EQ(header.axis("distance")->values, std::vector<double>({0.25, 0.4, 0.6}));
  EXPECT_EQ(header.axis("sector")->values, std::vector<double>({-0.3, -0.1, -0.15, 0.15, 0.1, 0.3, -0.05, 0.2}));
  EXPECT_LT(header.config.find("left side"), header.config.find("right side"));
  const ResultFrame frame = reader.read(1, reader.frames(1) - 1);
  const auto focus_m = values_of<float>(frame.frame.products[1]);
  const std::size_t pixels = 9 * 17;
  EXPECT_EQ(focus_m[4 * 17 + 4], 0.4F);
  EXPECT_EQ(focus_m[pixels + 6 * 17 + 12], 0.6F);
  const auto sectors = values_of<float>(frame.frame.products[2]);
  // rho w Q / (4 pi r), halved in its square; one-bit microphones and the closed form of IV leave some tenths of a dB.
  const auto level_db = [](double frequency_hz, double r) {
    const double amplitude = 1.2041 * frequency_hz * 2.0e-4 / (2.0 * r);
    return 10.0 * std::log10(0.5 * amplitude * amplitude);
  };
  const double left_db = 10.0 * std::log10(static_cast<double>(sectors[1 * 2 + 0]));
  const double right_db = 10.0 * std::log10(static_cast<double>(sectors[6 + 2 * 2 + 1]));
  EXPECT_NEAR(left_db, level_db(4028.32, std::hypot(0.2, 0.4)), 1.0);
  EXPECT_NEAR(right_db, level_db(5035.4, std::hypot(0.2, 0.1, 0.6)), 1.0);
  EXPECT_LT(10.0 * std::log10(static_cast<double>(sectors[1 * 2 + 1])), left_db - 20.0);
  EXPECT_LT(10.0 * std::log10(static_cast<double>(sectors[6 + 2 * 2 + 0])), right_db - 20.0);
}

}  // namespace
}  // namespace nearfield
