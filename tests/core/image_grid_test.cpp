#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/images.hpp"

namespace nearfield {
namespace {

// Images reach from the first microphone to the last and no further, and their pixels lie on the microphones to the
// last bit: models on disk and files depend on it.
TEST(ImageGrid, OfARegularArrayEndsAtItsMicrophones) {
  const ArrayGeometry geometry{.rows = 7, .columns = 12, .pitch_x_m = 0.021, .pitch_y_m = 0.017};
  for (const int upsample : {1, 3, 8}) {
    const ImageGrid grid = image_grid(geometry, upsample);
    ASSERT_EQ(grid.rows(), 6 * upsample + 1);
    ASSERT_EQ(grid.columns(), 11 * upsample + 1);
    EXPECT_EQ(grid.pixels(), static_cast<std::size_t>((6 * upsample + 1) * (11 * upsample + 1)));
    EXPECT_EQ(grid.x_m(grid.columns() - 1), geometry.x_m(11));
    EXPECT_EQ(grid.y_m(grid.rows() - 1), geometry.y_m(6));
    for (int column = 0; column < grid.columns(); ++column) {
      EXPECT_EQ(grid.x_m(column), geometry.x_m(static_cast<double>(column) / upsample));
    }
    for (int row = 0; row < grid.rows(); ++row) {
      EXPECT_EQ(grid.y_m(row), geometry.y_m(static_cast<double>(row) / upsample));
    }
  }
}

// The rule for irregular arrays, of a regular one that is given as such, is that array's own grid.
TEST(ImageGrid, OfTheSameMicrophonesWithoutTheirOrderIsTheirGrid) {
  const ArrayGeometry regular{.rows = 5, .columns = 9, .pitch_x_m = 0.02, .pitch_y_m = 0.02};
  std::vector<MicrophonePosition> positions_m;
  for (int channel = regular.channels() - 1; channel >= 0; --channel) {
    const MicrophonePosition at = regular.position_m(channel);
    positions_m.push_back({at.x_m + 0.3, at.y_m - 0.2, 0.0});
  }
  const ImageGrid grid = image_grid(irregular_geometry_of(positions_m), 2);
  ASSERT_EQ(grid.node_rows, 5);
  ASSERT_EQ(grid.node_columns, 9);
  for (int column = 0; column < grid.columns(); ++column) {
    EXPECT_NEAR(grid.x_m(column), regular.x_m(column / 2.0) + 0.3, 1e-12);
  }
  for (int row = 0; row < grid.rows(); ++row) {
    EXPECT_NEAR(grid.y_m(row), regular.y_m(row / 2.0) - 0.2, 1e-12);
  }
}

TEST(ImageGrid, CoversAllMicrophonesWithAboutAsManyNodes) {
  std::mt19937 generator(5U);
  for (const int count : {2, 3, 17, 60, 500, 4096}) {
    for (const double height_m : {0.0, 0.05, 0.4}) {
      std::uniform_real_distribution<double> x_m(-0.1, 0.5);
      std::uniform_real_distribution<double> y_m(0.0, height_m);
      std::vector<MicrophonePosition> positions_m;
      for (int i = 0; i < count; ++i) {
        positions_m.push_back({x_m(generator), height_m > 0.0 ? y_m(generator) : 0.0, 0.01 * i / count});
      }
      const ImageGrid grid = image_grid(irregular_geometry_of(positions_m));
      EXPECT_EQ(grid.pitch_x_m, grid.pitch_y_m);
      for (const MicrophonePosition& at : positions_m) {
        EXPECT_GE(at.x_m, grid.x_m(0) - 1e-12);
        EXPECT_LE(at.x_m, grid.x_m(grid.columns() - 1) + 1e-12);
        EXPECT_GE(at.y_m, grid.y_m(0) - 1e-12);
        EXPECT_LE(at.y_m, grid.y_m(grid.rows() - 1) + 1e-12);
      }
      // Each axis has less than one node more than the rectangle's, whose product is `count`.
      const double most = count + (grid.node_rows + grid.node_columns);
      EXPECT_GE(static_cast<double>(grid.pixels()), count);
      EXPECT_LE(static_cast<double>(grid.pixels()), most);
    }
  }
}

TEST(ImageGrid, OfMicrophonesAboveEachOtherIsOnePixel) {
  const ImageGrid grid = image_grid(irregular_geometry_of({{0.1, 0.2, 0.0}, {0.1, 0.2, 0.05}}));
  EXPECT_EQ(grid.pixels(), 1U);
  EXPECT_EQ(grid.x_m(0), 0.1);
  EXPECT_EQ(grid.y_m(0), 0.2);
  EXPECT_EQ(image_grid(irregular_geometry_of({{0.1, 0.2, 0.0}})).pixels(), 1U);
}

TEST(ImageGrid, IsSaidInWords) {
  const ImageGrid grid = image_grid({.rows = 2, .columns = 3, .pitch_x_m = 0.02, .pitch_y_m = 0.02}, 2);
  EXPECT_EQ(text_of(grid), "3 x 5 pixels, 10 mm apart, x from -20 to 20 mm, y from -10 to 10 mm");
}

// Files of others may describe an axis by other numbers of an entry than images have: its coordinates are then more
// than the values along it, and who reads an image by its coordinates would read beyond it.
TEST(ImagesOf, AreOverAxesOfImagesAndOfOneOfTheirQuantities) {
  const auto header_of = [](const std::string& quantity) {
    ResultHeader header;
    header.axes = image_axes(
        {{"frequency", {500.0}}, {"z", {0.0}}, {"y", {0.0, 0.1}}, {"x", {0.0, 0.1}}, {"point", {0.0, 0.0, 0.1, 0.1}}});
    add_image_products(header, quantity, "Pa");
    return header;
  };
  const ResultHeader header = header_of("pressure");
  EXPECT_NE(images_of(header), nullptr);
  EXPECT_NE(points_of(header), nullptr);
  for (std::size_t axis = 0; axis < header.axes.size(); ++axis) {
    ResultHeader other = header;
    other.axes[axis].components = axis == 4 ? 1 : 2;
    EXPECT_TRUE(images_of(other) == nullptr || axis == 4) << axis;
    EXPECT_TRUE(points_of(other) == nullptr || axis == 2 || axis == 3) << axis;
  }
  EXPECT_EQ(images_of(header_of("row power")), nullptr);
}

// Whatever a file says of an axis that all programs know, its coordinates are as many as they take.
TEST(ResultHeader, AxesOfKnownNamesHaveTheirNumbersAnEntry) {
  ResultHeader header;
  header.axes = {{.name = "x", .unit = "m", .values = {0.0, 0.1}},
                 {.name = "point", .unit = "m", .values = {0.0, 0.1}, .components = 2}};
  header.products = {{.name = "level", .quantity = "level", .unit = "1", .axes = {"x", "point"}}};
  EXPECT_EQ(flaw_of(header), "");
  header.axes[0].components = 2;
  EXPECT_EQ(flaw_of(header), "axis x has 2 numbers an entry, which this name does not have");
  header.axes[0].components = 1;
  header.axes[1].components = 1;
  EXPECT_EQ(flaw_of(header), "axis point has 1 numbers an entry, which this name does not have");
}

}  // namespace
}  // namespace nearfield
