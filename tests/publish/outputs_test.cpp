#include "publish/outputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "files/files.hpp"
#include "publish/pictures/array_picture.hpp"
#include "publish/png.hpp"
#include "support/command.hpp"
#include "support/images.hpp"
#include "support/two_processors.hpp"

namespace nearfield {
namespace {

namespace fs = std::filesystem;
using test::Png;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

TEST(ImagesFileOutput, WritesEveryProcessor) {
  const test::TemporaryFolder folder;
  ImagesFileOutput output(folder / "r.h5");
  test::write_two_processors(output, 9);
  output.finish();
  const ResultsReader reader(folder / "r.h5");
  ASSERT_EQ(reader.processors(), 2U);
  EXPECT_EQ(reader.frames(0), 9U);
  EXPECT_EQ(reader.frames(1), 2U);
  EXPECT_EQ(reader.header(1).products, test::row_power_header().products);
}

// Of a file of points alone today's readers ask for the axes of the surface.
TEST(ImagesFileOutput, LeavesOutTheSurfaceOfTheFirstProcessorAlone) {
  const test::TemporaryFolder folder;
  ImagesHeader images = test::images_of_two();
  images.points = {{.x_m = 0.0, .y_m = 0.005}};
  images.bands_hz = {{.low_hz = 400.0, .high_hz = 600.0}};
  ImageFrame frame;
  frame.cutoff_rad_per_m = frame.slope = frame.noise_pa = frame.error_estimate = {1.0F, 2.0F};
  frame.points = {{1.0F, 2.0F}, {3.0F, 4.0F}};
  frame.images.resize(images.values_per_frame());
  frame.bands.resize(6);
  const auto products = products_of(images, frame);
  Frame results;
  results.products = products;
  ImagesFileOutput output(folder / "points.h5", ImagesFileOutput::Content::kPointsAlone);
  output.begin(result_header(images), {.frames = 1});
  output.begin(test::row_power_header(), {.processor = 1, .frames = 1});
  output.write(results);
  output.write(test::row_power_frame(0).frame);
  output.finish();
  const ImagesReader reader(folder / "points.h5");
  EXPECT_FALSE(reader.header().holds_images);
  EXPECT_EQ(reader.header().y_m, images.y_m);
  EXPECT_TRUE(reader.header().bands_hz.empty());
  EXPECT_EQ(reader.read(0).points, frame.points);
  EXPECT_EQ(reader.read(0).slope, frame.slope);
  EXPECT_EQ(ResultsReader(folder / "points.h5").header(1).products, test::row_power_header().products);

  ImagesFileOutput none(folder / "none.h5", ImagesFileOutput::Content::kPointsAlone);
  EXPECT_THROW(none.begin(result_header(test::images_of_two()), {.frames = 1}), ConfigError);
}

TEST(PictureOutput, DrawsEveryArrayOfEveryProcessor) {
  const test::TemporaryFolder folder;
  PictureOutput output(folder / "png", {});
  test::write_two_processors(output, 9);
  const std::set<std::string> names = files_in(folder / "png");
  EXPECT_EQ(names.size(), 2U * 9U + 2U * 2U) << "two frequencies of images, row_power and beam; no figure, no table";
  EXPECT_THAT(names,
              IsSupersetOf({"frame00000_z+0.000m_0500.0Hz_pressure.png", "frame00008_z+0.000m_1000.0Hz_pressure.png",
                            "frame00008_row_power_row_power.png", "frame00000_row_power_beam.png"}));
}

/// A product over `axes` axes, with values from 0 on.
struct Array {
  ResultHeader header;
  ResultFrame frame;

  explicit Array(const std::vector<Axis>& axes) : header(header_of(axes)), frame(header) {
    std::vector<float> values(header.values(header.products[0]));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i);
    }
    test::put(frame.product(0), 0, values);
  }

  static ResultHeader header_of(const std::vector<Axis>& axes) {
    ResultHeader header;
    header.processor = "map";
    header.axes = axes;
    header.products = {{.name = "level", .quantity = "power", .unit = "Pa^2", .type = ElementType::kFloat32}};
    for (const Axis& axis : axes) {
      header.products[0].axes.push_back(axis.name);
    }
    return header;
  }
};

Rgb8 middle_of_cell(const Png& png, const Area& panel, int rows, int columns, int row, int column) {
  return png.at(panel.x + (2 * column + 1) * panel.width / (2 * columns),
                panel.y + (2 * row + 1) * panel.height / (2 * rows));
}

TEST(ArrayPicture, DrawsTheLastAxisAcrossAndTheOneBeforeDown) {
  const test::TemporaryFolder folder;
  const Array array({{.name = "frequency", .unit = "Hz", .values = {500.0, 1000.0}},
                     {.name = "elevation", .unit = "deg", .values = {-10.0, 10.0}},
                     {.name = "azimuth", .unit = "deg", .values = {-90.0, 0.0, 90.0}}});
  const std::vector<Selection> subjects = pictures_of(array.header, 0);
  ASSERT_EQ(subjects.size(), 2U);
  EXPECT_THAT(subjects[1].indices, ElementsAre(1U));
  EXPECT_EQ(array_picture_name(array.header, subjects[0], 12), "frame00012_map_level_frequency0500.0Hz.png");
  write_array_picture(folder / "a.png", array.header, array.frame.frame, subjects[1], {});
  const Png png(folder / "a.png");
  const ArrayLayout layout = array_layout(array.header, array.header.products[0], {});
  EXPECT_EQ(png.width(), layout.width);
  EXPECT_EQ(png.height(), layout.height);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(middle_of_cell(png, layout.panel, 2, 3, i / 3, i % 3), magnitude_colour((6.0 + i) / 11.0)) << i;
  }
}

TEST(ArrayPicture, OfOneAxisIsOneRow) {
  const test::TemporaryFolder folder;
  const Array array({{.name = "microphone", .unit = "1", .values = {0.0, 1.0, 2.0, 3.0}}});
  write_array_picture(folder / "a.png", array.header, array.frame.frame, {}, {});
  const Png png(folder / "a.png");
  const ArrayLayout layout = array_layout(array.header, array.header.products[0], {});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(middle_of_cell(png, layout.panel, 1, 4, 0, i), magnitude_colour(i / 3.0)) << i;
  }
}

TEST(ArrayPicture, ScalesNegativeValuesAndHatchesWhatIsNotFinite) {
  const test::TemporaryFolder folder;
  Array array({{.name = "microphone", .unit = "1", .values = {0.0, 1.0, 2.0, 3.0}}});
  test::put<float>(array.frame.product(0), 0, {-2.0F, 0.0F, 2.0F, std::numeric_limits<float>::quiet_NaN()});
  write_array_picture(folder / "a.png", array.header, array.frame.frame, {}, {});
  const Png png(folder / "a.png");
  const ArrayLayout layout = array_layout(array.header, array.header.products[0], {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(middle_of_cell(png, layout.panel, 1, 4, 0, i), magnitude_colour(i / 2.0)) << i;
  }
  const Rgb8 lost = middle_of_cell(png, layout.panel, 1, 4, 0, 3);
  EXPECT_TRUE(lost.red == lost.green && lost.green == lost.blue);
  EXPECT_GT(png.height(), layout.height) << "a line below says so";
}

TEST(ArrayPicture, NamesSortAndDiffer) {
  const Array array({{.name = "z", .unit = "m", .values = {-0.01, 0.005}},
                     {.name = "band", .unit = "Hz", .values = {100.0, 200.0, 200.0, 400.0}, .components = 2},
                     {.name = "y", .unit = "m", .values = {0.0}},
                     {.name = "x", .unit = "m", .values = {0.0, 0.1}}});
  std::vector<std::string> names;
  for (const Selection& subject : pictures_of(array.header, 0)) {
    names.push_back(array_picture_name(array.header, subject, 3));
  }
  EXPECT_THAT(names, ElementsAre("frame00003_map_level_z-0.010m_band0_100-200Hz.png",
                                 "frame00003_map_level_z-0.010m_band1_200-400Hz.png",
                                 "frame00003_map_level_z+0.005m_band0_100-200Hz.png",
                                 "frame00003_map_level_z+0.005m_band1_200-400Hz.png"));
}

TEST(ArrayPicture, RefusesFramesOfAnotherSize) {
  const test::TemporaryFolder folder;
  const Array array({{.name = "microphone", .unit = "1", .values = {0.0, 1.0}}});
  ResultHeader other = array.header;
  other.axes[0].values.push_back(2.0);
  EXPECT_THROW(write_array_picture(folder / "a.png", other, array.frame.frame, {}, {}), DataError);
  PictureOptions options;
  options.floor_db = 1.0;
  EXPECT_THROW(write_array_picture(folder / "a.png", array.header, array.frame.frame, {}, options), ConfigError);
}

// More columns than pixels: cells are left out, and nothing else.
TEST(ArrayPicture, OfManyCellsStaysOfASizeThatCanBeSeen) {
  const Array array({{.name = "lag", .unit = "s", .values = std::vector<double>(10'000, 0.0)}});
  const ArrayLayout layout = array_layout(array.header, array.header.products[0], {});
  EXPECT_EQ(layout.panel.width, 4096);
  EXPECT_EQ(layout.panel.height, 1);
}

}  // namespace
}  // namespace nearfield
