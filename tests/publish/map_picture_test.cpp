#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files/results_file.hpp"
#include "publish/pictures/array_picture.hpp"
#include "publish/pictures/sources_table.hpp"
#include "publish/png.hpp"
#include "support/command.hpp"
#include "support/two_processors.hpp"

/// Pictures of maps in levels, with circles, by the colours that formulas give.
namespace nearfield {
namespace {

using test::Png;
using testing::Contains;
using testing::HasSubstr;

constexpr double kFrame_s = 0.1;

std::vector<double> evenly(double first, double step, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(first + step * i);
  }
  return values;
}

/// A finder of sources over y and x.
ResultHeader finder_header() {
  ResultHeader header;
  header.processor = "where";
  header.kind = "finder";
  header.config = "version: 1\nholography: {standoff_m: 0.03}\n";
  header.axes = {{.name = "distance", .unit = "m", .values = {1.0, 2.0}},
                 {.name = "y", .unit = "m", .values = evenly(-0.5, 0.1, 11)},
                 {.name = "x", .unit = "m", .values = evenly(-1.0, 0.1, 21)}};
  Product sources = {
      .name = "sources", .quantity = "places of sources", .unit = "m", .form = Product::Form::kTable, .most_rows = 2};
  sources.columns = {{"id", "1", ElementType::kUint32},        {"state", "1", ElementType::kUint32},
                     {"x", "m", ElementType::kFloat32},        {"y", "m", ElementType::kFloat32},
                     {"z", "m", ElementType::kFloat32},        {"confidence", "1", ElementType::kFloat32},
                     {"level_db", "dB", ElementType::kFloat32}};
  header.products = {sources,
                     {.name = "map",
                      .quantity = "steered response power",
                      .unit = "1",
                      .type = ElementType::kFloat32,
                      .axes = {"distance", "y", "x"}}};
  return header;
}

ResultHeader meter_header() {
  ResultHeader header;
  header.processor = "far";
  header.kind = "meter";
  header.config = "version: 1\n";
  header.axes = {{.name = "frequency", .unit = "Hz", .values = {1000.0, 2000.0}},
                 {.name = "y", .unit = "m", .values = evenly(-0.5, 0.25, 5)},
                 {.name = "x", .unit = "m", .values = evenly(-1.0, 0.25, 9)}};
  header.products = {{.name = "map",
                      .quantity = "mean square pressure",
                      .unit = "Pa^2",
                      .type = ElementType::kFloat32,
                      .axes = {"frequency", "y", "x"}}};
  return header;
}

void stamp(ResultFrame& made, std::size_t processor, std::uint64_t number) {
  made.frame.processor = processor;
  made.frame.sequence = number;
  made.frame.first_bit_time = number * 1000;
  made.frame.timestamp_ns = std::llround(kFrame_s * 1e9 * static_cast<double>(number));
}

/// Track 7 goes along x, at 1 m; a candidate rests at the left, at 2 m.
double track_x(std::uint64_t number) { return -0.8 + 0.04 * static_cast<double>(number); }
ResultFrame finder_frame(std::uint64_t number) {
  ResultFrame made(finder_header());
  stamp(made, 0, number);
  const std::span<std::byte> table = made.product(0);
  test::put<std::uint64_t>(table, 0, {2});
  std::size_t offset = 8;
  const auto column = [&]<class T>(const std::vector<T>& values) {
    test::put<T>(table, offset, values);
    offset += 8;
  };
  column(std::vector<std::uint32_t>{7, 0});
  column(std::vector<std::uint32_t>{2, 1});
  column(std::vector<float>{static_cast<float>(track_x(number)), -0.5F});
  column(std::vector<float>{0.2F, -0.3F});
  column(std::vector<float>{0.03F - 1.0F, 0.03F - 2.0F});
  column(std::vector<float>{0.9F, 0.4F});
  column(std::vector<float>{71.25F, 60.0F});
  // A ridge along y: |x| / 1 m, 0 in the middle.
  std::vector<float> map;
  for (int i = 0; i < 2 * 11 * 21; ++i) {
    map.push_back(static_cast<float>(1.0 - std::abs(-1.0 + 0.1 * (i % 21))));
  }
  test::put(made.product(1), 0, map);
  return made;
}

/// 60 dB in the first pixel, 10 dB less in the second, and so on, 20 dB more at the second frequency.
ResultFrame meter_frame(std::uint64_t number) {
  ResultFrame made(meter_header());
  stamp(made, 0, number);
  std::vector<float> map;
  for (int i = 0; i < 2 * 45; ++i) {
    map.push_back(static_cast<float>(4e-10 * std::pow(10.0, 6.0 - (i % 45) + (i < 45 ? 0.0 : 2.0))));
  }
  map[44] = std::numeric_limits<float>::quiet_NaN();
  test::put(made.product(0), 0, map);
  return made;
}

Rgb8 middle_of(const Png& png, const Area& panel, int rows, int columns, int row, int column) {
  return png.at(panel.x + (2 * column + 1) * panel.width / (2 * columns),
                panel.y + (2 * row + 1) * panel.height / (2 * rows));
}

PictureOptions levels_of(double range_db) { return {.decibels = true, .floor_db = -range_db, .fixed_maximum = {}}; }

TEST(MapPicture, ShowsLevelsInAFixedRange) {
  const test::TemporaryFolder folder;
  const ResultFrame frame = meter_frame(0);
  write_array_picture(folder / "a.png", meter_header(), frame.frame, {.product = 0, .indices = {0}}, levels_of(40.0));
  const Png png(folder / "a.png");
  const Area panel = array_layout(meter_header(), meter_header().products[0], {}).panel;
  for (int column = 0; column < 9; ++column) {
    EXPECT_EQ(middle_of(png, panel, 5, 9, 0, column), magnitude_colour(1.0 - column / 4.0)) << column;
  }
  const Rgb8 lost = middle_of(png, panel, 5, 9, 4, 8);
  EXPECT_TRUE(lost.red == lost.green && lost.green == lost.blue);
}

TEST(MapPicture, KnowsTheLevelOfEachUnit) {
  const auto level = [](const std::string& unit, ElementType type, double value) {
    return level_rule({.name = "a", .quantity = "", .unit = unit, .type = type}).level(value);
  };
  EXPECT_NEAR(level("Pa", ElementType::kComplex64, std::sqrt(2.0)), 93.9794, 1e-4) << "1 Pa rms";
  EXPECT_NEAR(level("Pa^2", ElementType::kFloat32, 1.0), 93.9794, 1e-4);
  EXPECT_NEAR(level("W/m^2", ElementType::kFloat32, 1e-6), 60.0, 1e-9);
  EXPECT_NEAR(level("1", ElementType::kFloat32, 0.01), -20.0, 1e-9);
  EXPECT_NEAR(level("m/s", ElementType::kComplex64, 5e-6 * std::sqrt(2.0)), 40.0, 1e-9) << "5 um/s rms re 50 nm/s";
  EXPECT_NEAR(level("m", ElementType::kComplex64, 1e-9 * std::sqrt(2.0)), 60.0, 1e-9) << "1 nm rms re 1 pm";
  EXPECT_NEAR(level("rad", ElementType::kComplex64, 0.01), -40.0, 1e-9);
  EXPECT_EQ(level("Pa", ElementType::kComplex64, 0.0), -std::numeric_limits<double>::infinity());
}

// A distance, such as that of a focus, is no amplitude: its scale is in metres with decibels, too.
TEST(MapPicture, ShowsLengthsInMetres) {
  const Product focus = {.name = "focus_m", .quantity = "", .unit = "m", .type = ElementType::kFloat32};
  const ScaledValues scaled = scaled_values(focus, {0.5, 2.0}, levels_of(15.0));
  EXPECT_FALSE(scaled.are_levels);
  EXPECT_EQ(scaled.low, 0.0);
  EXPECT_EQ(scaled.high, 2.0);
  const Product displacement = {.name = "images", .quantity = "", .unit = "m"};
  EXPECT_TRUE(scaled_values(displacement, {0.5, 2.0}, levels_of(15.0)).are_levels);
}

// The top of one map is held over frames; another map, such as that of another frequency, has its own.
TEST(PictureScale, HoldsTheMaximumOfEachMapOrTakesALevel) {
  const LevelRule rule = level_rule(meter_header().products[0]);
  PictureScale held({.options = levels_of(15.0), .top_db = {}, .is_held = true});
  const std::vector<double> loud = {1.0, 4.0, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> quiet = {1.0, 2.0};
  EXPECT_EQ(held.options_for("frame00000_far_map_1.png", rule, loud).fixed_maximum, 4.0);
  EXPECT_EQ(held.options_for("frame00001_far_map_1.png", rule, quiet).fixed_maximum, 4.0);
  EXPECT_EQ(held.options_for("frame00001_far_map_2.png", rule, quiet).fixed_maximum, 2.0);
  PictureScale fixed({.options = levels_of(15.0), .top_db = 60.0, .is_held = false});
  EXPECT_NEAR(*fixed.options_for("frame00000_a.png", rule, quiet).fixed_maximum, 4e-4, 1e-12);
  EXPECT_FALSE(fixed.options_for("frame00000_a.png", level_rule(finder_header().products[1]), quiet).fixed_maximum)
      << "a level of sound pressure says nothing of other quantities";
}

// Of real values with a sign both ends are held: a colour means one value in all pictures of the run.
TEST(PictureScale, HoldsTheMinimumOfSignedValues) {
  const Product gain = {.name = "gain", .quantity = "", .unit = "1", .type = ElementType::kFloat32};
  const LevelRule rule = level_rule(gain);
  PictureScale held({.options = {.fixed_maximum = {}}, .top_db = {}, .is_held = true});
  const std::vector<double> first = {-6.0, 2.0, -std::numeric_limits<double>::infinity()};
  const std::vector<double> second = {-1.0, 4.0};
  EXPECT_EQ(held.options_for("frame00000_gain.png", rule, first).fixed_minimum, -6.0);
  const PictureOptions options = held.options_for("frame00001_gain.png", rule, second);
  EXPECT_EQ(options.fixed_minimum, -6.0);
  const ScaledValues scaled = scaled_values(gain, second, options);
  EXPECT_EQ(scaled.low, -6.0);
  EXPECT_EQ(scaled.high, 4.0);
  EXPECT_FALSE(held.options_for("frame00000_other.png", rule, std::vector<double>{1.0}).fixed_minimum);
}

TEST(MapPicture, HasCirclesOnTheNearestPlaneOfASource) {
  const ResultHeader header = finder_header();
  const ResultFrame frame = finder_frame(20);
  const std::vector<FoundSource> sources = read_sources(header.products[0], frame.frame.products[0]);
  ASSERT_EQ(sources.size(), 2U);
  const auto on = [&](std::size_t distance) {
    return circles_on(header, header.products[1], {distance}, header.products[0], sources);
  };
  ASSERT_EQ(on(0).size(), 1U);
  EXPECT_NEAR(on(0)[0].across, 0.0, 1e-6);
  EXPECT_NEAR(on(0)[0].down, 0.2, 1e-6);
  EXPECT_EQ(on(0)[0].text, "#7  71.2 dB, 0.90");
  EXPECT_TRUE(on(0)[0].is_bold);
  ASSERT_EQ(on(1).size(), 1U);
  EXPECT_NEAR(on(1)[0].across, -0.5, 1e-6);
  EXPECT_EQ(on(1)[0].text, "60.0 dB, 0.40");
  EXPECT_FALSE(on(1)[0].is_bold);
}

TEST(MapPicture, DrawsTheCirclesWhereTheSourcesAre) {
  const test::TemporaryFolder folder;
  PictureScale scale({});
  EXPECT_EQ(write_result_pictures(folder.path(), finder_header(), finder_frame(20).frame, scale), 2U);
  const Png png(folder / "frame00020_where_map_distance1.000m.png");
  const Area panel = array_layout(finder_header(), finder_header().products[1], {}).panel;
  // x = 0 is in the middle; y = 0.2 is the middle of row 7 of 11.
  const int x = panel.x + panel.width / 2;
  const int y = panel.y + static_cast<int>(std::lround(7.5 * panel.height / 11.0));
  EXPECT_EQ(png.at(x - kCircleRadius, y), kMarkColour);
  EXPECT_EQ(png.at(x, y - kCircleRadius), kMarkColour);
  EXPECT_EQ(png.at(x, y), magnitude_colour(1.0)) << "its middle shows the map";
  EXPECT_EQ(png.at(x, y - 3 * kCircleRadius), magnitude_colour(1.0));
}

// The same source from the array's centre: a direction lies on planes where its line meets them, and on angles.
TEST(MapPicture, ShowsDirectionsOnPlanesAndAngles) {
  ResultHeader header = finder_header();
  for (Column& column : header.products[0].columns) {
    column.unit = column.unit == "m" ? "1" : column.unit;
  }
  const double range = std::hypot(0.3, 0.4, 2.0);
  const std::vector<FoundSource> sources = {
      {.id = 1, .state = 2, .x = 0.3 / range, .y = -0.4 / range, .z = -2.0 / range}};
  const std::vector<Circle> on_plane = circles_on(header, header.products[1], {1}, header.products[0], sources);
  ASSERT_EQ(on_plane.size(), 1U);
  EXPECT_NEAR(on_plane[0].across, 0.3, 1e-12);
  EXPECT_NEAR(on_plane[0].down, -0.4, 1e-12);
  ResultHeader angles = header;
  angles.axes = {{.name = "elevation", .unit = "deg", .values = evenly(-30, 10, 7)},
                 {.name = "azimuth", .unit = "deg", .values = evenly(-30, 10, 7)}};
  angles.products[1].axes = {"elevation", "azimuth"};
  const std::vector<Circle> on_angles = circles_on(angles, angles.products[1], {}, header.products[0], sources);
  ASSERT_EQ(on_angles.size(), 1U);
  EXPECT_NEAR(std::sin(on_angles[0].across * 0.017453292519943295), 0.3 / range, 1e-12);
  EXPECT_NEAR(std::sin(on_angles[0].down * 0.017453292519943295), -0.4 / range, 1e-12);
  // A place in metres is seen from the array's centre, which lies a standoff behind the surface.
  const std::vector<Circle> of_place = circles_on(angles, angles.products[1], {}, finder_header().products[0],
                                                  {{.id = 1, .state = 2, .x = 0.3, .y = -0.4, .z = 0.03 - 2.0}});
  ASSERT_EQ(of_place.size(), 1U);
  EXPECT_NEAR(of_place[0].across, on_angles[0].across, 1e-9);
}

TEST(PicturesCommand, DrawsFrames) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "r.h5";
  ResultsWriter writer(path);
  writer.begin(meter_header(), {.processor = 0, .frames = 4});
  for (std::uint64_t number = 0; number < 4; ++number) {
    writer.write(meter_frame(number).frame);
  }
  writer.finish();
  test::CommandResult result =
      test::run_nearfield("pictures " + path + " -o " + (folder / "png") + " --frames 1:3 --db --range 15 --top hold");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::vector<std::string> names = test::files_in(folder / "png");
  EXPECT_EQ(names.size(), 4U);
  EXPECT_THAT(names, Contains("frame00002_far_map_frequency2000.0Hz.png"));
  EXPECT_THAT(result.output, HasSubstr("4 pictures"));
  for (const auto& [options, words] : {std::pair{"--range 0 --db", "--range: expected"},
                                       {"--range 3", "goes with --db"},
                                       {"--top 60", "goes with --db"},
                                       {"--db --top loud", "--top: expected common, own, hold"}}) {
    result = test::run_nearfield("pictures " + path + " -o " + (folder / "no") + " " + options);
    EXPECT_EQ(result.exit_code, 64) << result.output;
    EXPECT_THAT(result.output, HasSubstr(words));
  }
  result = test::run_nearfield("pictures " + path + " -o " + (folder / "no") + " --frames 9:12");
  EXPECT_EQ(result.exit_code, 65) << result.output;
}

}  // namespace
}  // namespace nearfield
