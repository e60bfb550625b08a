#include "publish/overviews/sections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nearfield/error.hpp"
#include "publish/pictures/map_marks.hpp"
#include "publish/png.hpp"
#include "support/command.hpp"
#include "support/two_processors.hpp"

namespace nearfield {
namespace {

using test::Png;
using testing::HasSubstr;

constexpr int kColumns = 9;
constexpr int kRows = 5;
constexpr int kDepths = 7;

/// A volume of two frequencies, 3 cm behind whose first depth the surface would be.
ResultHeader volume_header() {
  ResultHeader header;
  header.processor = "far";
  header.kind = "meter";
  header.config = "version: 1\nholography: {standoff_m: 0.03}\n";
  const auto evenly = [](double first, int count) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) {
      values.push_back(first + 0.1 * i);
    }
    return values;
  };
  header.axes = {{.name = "frequency", .unit = "Hz", .values = {500.0, 1000.0}},
                 {.name = "distance", .unit = "m", .values = evenly(0.5, kDepths)},
                 {.name = "y", .unit = "m", .values = evenly(-0.2, kRows)},
                 {.name = "x", .unit = "m", .values = evenly(-0.4, kColumns)}};
  header.products = {{.name = "map",
                      .quantity = "mean square pressure",
                      .unit = "Pa^2",
                      .type = ElementType::kFloat32,
                      .axes = {"frequency", "distance", "y", "x"}}};
  return header;
}

/// A value that its place determines.
float value_at(int frequency, int depth, int row, int column) {
  return static_cast<float>(1 + frequency) * static_cast<float>(1 + depth + 10 * row + 100 * column);
}

std::string file_in(const test::TemporaryFolder& folder) {
  std::string path = folder / "v.h5";
  ResultsWriter writer(path);
  writer.begin(volume_header(), {.processor = 0, .frames = 2});
  for (std::uint64_t number = 0; number < 2; ++number) {
    ResultFrame made(volume_header());
    made.frame.sequence = number;
    std::vector<float> map;
    for (int f = 0; f < 2; ++f) {
      for (int i = 0; i < kDepths * kRows * kColumns; ++i) {
        map.push_back(value_at(f, i / (kRows * kColumns), i / kColumns % kRows, i % kColumns));
      }
    }
    test::put(made.product(0), 0, map);
    writer.write(made.frame);
  }
  writer.finish();
  return path;
}

// Each cell of the three cuts has the colour of its value on the volume's scale, and lines cross at the place.
TEST(Sections, CutTheVolumeAtThePlace) {
  const test::TemporaryFolder folder;
  const ResultsReader reader(file_in(folder));
  // x = 0.2 is column 6, y = -0.1 row 1; z = -0.87 lies 0.9 m before the array, depth 4.
  EXPECT_EQ(write_sections(folder.path(), reader, {.at_m = {0.2, -0.1, -0.87}, .first_frame = 1}), 2U);
  const Png png(folder / "sections00001_far_map_frequency1000.0Hz.png");
  const SectionsLayout layout = sections_layout(kColumns, kRows, kDepths);
  EXPECT_EQ(png.width(), layout.width);
  EXPECT_EQ(png.height(), layout.height);
  const double top = static_cast<double>(value_at(1, kDepths - 1, kRows - 1, kColumns - 1));
  const auto colour = [&](int depth, int row, int column) {
    return magnitude_colour(static_cast<double>(value_at(1, depth, row, column)) / top);
  };
  const auto corner_of_cell = [&](const Area& area, int rows, int columns, int row, int column) {
    return png.at(area.x + column * area.width / columns + 2, area.y + row * area.height / rows + 2);
  };
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      EXPECT_EQ(corner_of_cell(layout.xy, kRows, kColumns, row, column), colour(4, row, column));
    }
    for (int depth = 0; depth < kDepths; ++depth) {
      EXPECT_EQ(corner_of_cell(layout.depth_y, kRows, kDepths, row, depth), colour(depth, row, 6));
    }
  }
  for (int depth = 0; depth < kDepths; ++depth) {
    for (int column = 0; column < kColumns; ++column) {
      EXPECT_EQ(corner_of_cell(layout.x_depth, kDepths, kColumns, depth, column), colour(depth, 1, column));
    }
  }
  const auto middle = [](int first, int length, int count, int cell) {
    return first + static_cast<int>((cell + 0.5) * length / count);
  };
  const int x = middle(layout.xy.x, layout.xy.width, kColumns, 6);
  const int y = middle(layout.xy.y, layout.xy.height, kRows, 1);
  for (const int offset : {3, layout.xy.height - 3}) {
    const bool is_line =
        png.at(x, layout.xy.y + offset) == kGuideColour || png.at(x - 1, layout.xy.y + offset) == kGuideColour;
    EXPECT_TRUE(is_line) << "of x, from top to bottom";
  }
  EXPECT_TRUE(png.at(layout.depth_y.x + 3, y) == kGuideColour || png.at(layout.depth_y.x + 3, y - 1) == kGuideColour);
}

TEST(Sections, RefusePlacesOutsideAndFilesWithoutVolumes) {
  const test::TemporaryFolder folder;
  const ResultsReader reader(file_in(folder));
  const auto refusal_of = [&](const SectionOptions& options) -> std::string {
    try {
      write_sections(folder.path(), reader, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal_of({.at_m = {0.5, 0.0, -0.87}}), HasSubstr("--at: expected x inside the volume, x from -0.4"));
  EXPECT_THAT(refusal_of({.at_m = {0.0, 0.0, 0.0}}),
              HasSubstr("--at: expected z inside the volume, distance from 0.5"));
  EXPECT_THAT(refusal_of({.at_m = {0.0, 0.0, -0.87}, .map = "near"}), HasSubstr("at least two depths of near"));
  test::write_two_processors_to(folder / "flat.h5", 1);
  EXPECT_THROW(write_sections(folder.path(), ResultsReader(folder / "flat.h5"), {}), UsageError);
}

}  // namespace
}  // namespace nearfield
